// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// leave stores what runs leave.
func (h *home) leave(ids ...string) {
	h.t.Helper()
	for _, id := range ids {
		if err := h.exec.Prepare(h.t.Context(), h.record(id)); err != nil {
			h.t.Fatal(err)
		}
		for _, part := range []string{run.BlobLog, run.BlobPlan, run.BlobPlanText} {
			if err := h.blobs.PutBytes(h.t.Context(), h.stack.Key(id, part), []byte("x")); err != nil {
				h.t.Fatal(err)
			}
		}
	}
}

// prune prunes as if hours had gone by.
func (h *home) prune(later time.Duration, r records.PruneRequest) records.Pruned {
	h.t.Helper()
	r.Stack, r.Now = h.stack, time.Now().Add(later)
	done, err := h.exec.Prune(h.t.Context(), r)
	if err != nil {
		h.t.Fatal(err)
	}
	return done
}

func TestPruneKeepsWhatIsNeededAndWhatIsInHand(t *testing.T) {
	h := newHome(t)
	h.leave("r1", "r2", "r3", "r4")
	waiting := h.record("r5")
	waiting.Spec.Plan = &run.PlanRef{RunID: "r2"}
	h.begin(waiting)
	if err := h.blobs.PutBytes(t.Context(), h.stack.Key("r6", "of-another-release"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	done := h.prune(2*time.Hour, records.PruneRequest{Named: []string{"r3"}, Keep: records.Keep{Runs: 1}})
	if done.Runs != 2 || done.Blobs != 8 || done.Bytes == 0 {
		t.Errorf("removed %+v", done)
	}
	if diff := cmp.Diff([]string{"r5", "r3", "r2"}, h.listed(10)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	for key, there := range map[string]bool{h.stack.Key("r2", run.BlobPlan): true, h.stack.Key("r1", run.BlobLog): false, h.stack.Key("r6", "of-another-release"): true} {
		if got, err := h.blobs.Exists(t.Context(), key); err != nil || got != there {
			t.Errorf("%s is there: %v, %v", key, got, err)
		}
	}
	if _, err := h.exec.Record(t.Context(), h.stack, "r1"); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("a run that is gone: %v", err)
	}
}

func TestWhatAGoneStackLeftGoesWithItsTime(t *testing.T) {
	h := newHome(t)
	h.leave("r1", "r2")
	if err := h.blobs.PutBytes(t.Context(), h.stack.LockFileKey(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	gone := func(before time.Time) records.Pruned {
		t.Helper()
		done, err := h.exec.PruneGone(t.Context(), h.stack, before)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	if done := gone(time.Now().Add(-time.Hour)); done.Blobs != 0 {
		t.Errorf("removed %+v before its time", done)
	}
	if done := gone(time.Now().Add(time.Hour)); done.Runs != 2 || done.Blobs != 8 {
		t.Errorf("removed %+v", done)
	}
	for _, key := range []string{h.stack.Prefix(), h.stack.LockFileKey()} {
		for info, err := range h.blobs.List(t.Context(), key) {
			t.Errorf("there is still %s, %v", info.Key, err)
		}
	}
}

func TestAStackThatIsListedWhileItsRunsGo(t *testing.T) {
	h := newHome(t)
	var ids []string
	for i := range 40 {
		ids = append(ids, fmt.Sprintf("r%02d", i))
	}
	h.leave(ids...)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		h.prune(2*time.Hour, records.PruneRequest{Keep: records.Keep{Runs: 3}})
	}()
	for ended := false; !ended; {
		select {
		case <-gone:
			ended = true
		default:
		}
		if _, err := h.exec.List(t.Context(), h.stack, 100); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"r39", "r38", "r37"}, h.listed(100)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

func BenchmarkPruneOfAHundredRuns(b *testing.B) {
	key, err := blob.LoadOrCreateKey(b.TempDir() + "/key")
	if err != nil {
		b.Fatal(err)
	}
	blobs, err := blob.Open(b.Context(), "file://"+b.TempDir(), key)
	if err != nil {
		b.Fatal(err)
	}
	stack := run.Stack{Namespace: "n", Name: "s", UID: "u"}
	for i := range 100 {
		for _, part := range []string{run.BlobRecord, run.BlobLog, run.BlobPlanJSON, run.BlobPlanText} {
			if err := blobs.PutBytes(b.Context(), stack.Key(fmt.Sprintf("r%03d", i), part), []byte("x")); err != nil {
				b.Fatal(err)
			}
		}
	}
	exec, err := executor.New(executor.Options{Blobs: blobs, LiveDir: b.TempDir(), ShellDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := exec.Prune(b.Context(), records.PruneRequest{Stack: stack, Keep: records.Keep{Runs: 100}, Now: time.Now()}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestRunsThatOnlyReadTakeNoPlaces(t *testing.T) {
	h := newHome(t)
	h.leave("r1", "r2")
	for _, id := range []string{"r3", "r4", "r5"} {
		rec := h.record(id)
		rec.Spec.Operation, rec.Spec.StateChange = run.OperationState, &run.StateChange{Verb: run.StateConsole, Preview: true}
		if err := h.exec.Prepare(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	h.prune(2*time.Hour, records.PruneRequest{Keep: records.Keep{Runs: 2}})
	if diff := cmp.Diff([]string{"r5", "r4", "r3", "r2", "r1"}, h.listed(10)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}
