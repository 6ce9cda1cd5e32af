// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// counting counts the records that are fetched.
type counting struct {
	Blobs
	n int
}

func (c *counting) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	c.n++
	return c.Blobs.Get(ctx, key, limit)
}

// TestPruneFetchesARecordOnce: with S3, each of them is a request.
func TestPruneFetchesARecordOnce(t *testing.T) {
	key, err := blob.LoadOrCreateKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(t.Context(), "file://"+filepath.Join(t.TempDir(), "blobs"), key)
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{Blobs: blobs}
	s, stack := Store{Blobs: c, Kinds: &Kinds{}}, run.Stack{Namespace: "n", Name: "s", UID: "u"}
	put := func(id string, verb run.StateVerb) {
		t.Helper()
		if err := s.Put(t.Context(), run.Record{Spec: run.Spec{ID: id, Stack: stack, StateChange: &run.StateChange{Verb: verb}}}); err != nil {
			t.Fatal(err)
		}
	}
	prune := func(runs, fetched int) {
		t.Helper()
		c.n = 0
		done, err := s.Prune(t.Context(), PruneRequest{Stack: stack, Keep: Keep{Runs: 1}, Now: time.Now().Add(2 * time.Hour)}, func() []string { return nil })
		if err != nil || done.Runs != runs || c.n != fetched {
			t.Errorf("%d runs are removed, %d records fetched, %v; want %d and %d", done.Runs, c.n, err, runs, fetched)
		}
	}
	put("r00", run.StateRemove)
	for i := range reads {
		put(fmt.Sprintf("r%02d", i+1), run.StateConsole)
	}
	prune(0, reads+1)
	prune(0, 0)
	put("r98", run.StateConsole)
	put("r99", run.StateRemove)
	prune(2, 2) // the oldest of each kind
	prune(0, 0)
}

// TestKindsAreBounded: what a server remembers does not grow with its stacks.
func TestKindsAreBounded(t *testing.T) {
	k, one := &Kinds{}, map[string]bool{"a": true, "b": false}
	stack := func(i int) run.Stack { return run.Stack{Name: fmt.Sprint(i)} }
	for i := range 10 {
		k.set(stack(i), one, 6)
		k.set(stack(i), one, 6)
		if got := k.of(stack(i)); !got["a"] || k.n > 6 || k.n != 2*len(k.reads) || i > 2 && k.n != 6 {
			t.Fatalf("after %d stacks: %v, %d runs of %d stacks", i+1, got, k.n, len(k.reads))
		}
	}
	for i := range 10 {
		k.set(stack(i), nil, 6)
	}
	k.set(stack(0), map[string]bool{"a": true, "b": true, "c": true}, 2)
	if k.n != 0 || len(k.reads) != 0 {
		t.Errorf("%d runs of %d stacks are left", k.n, len(k.reads))
	}
}
