// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counting counts what is read.
type counting struct {
	Store
	reads atomic.Int64
}

func (c *counting) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	c.reads.Add(1)
	return c.Store.Get(ctx, key, limit)
}

func TestPages(t *testing.T) {
	store := &counting{Store: newStore(t)}
	l := &Ledger{Store: store}
	for _, name := range []string{"a/x", "a/x-1", "a/y", "b/x"} {
		for i := range 20 {
			r := approval("p1", fmt.Sprint("user-", i))
			r.Namespace, r.Stack, _ = strings.Cut(name, "/")
			add(t, l, r)
		}
	}
	for _, c := range []struct {
		namespace, stack string
		limit            int
		want             []string
	}{
		{"", "", 0, []string{"a/x-1:20 a/x:20 a/y:20 b/x:20"}},
		{"", "", 40, []string{"a/x-1:20 a/x:20", "a/y:20 b/x:20"}},
		{"", "", 33, []string{"a/x-1:20 a/x:13", "a/x:7 a/y:20 b/x:6", "b/x:14"}},
		{"a", "", 50, []string{"a/x-1:20 a/x:20 a/y:10", "a/y:10"}},
		{"a", "x", 7, []string{"a/x:7", "a/x:7", "a/x:6"}},
		{"a", "none", 7, []string{""}},
	} {
		var got []string
		after := ""
		for {
			before := store.reads.Load()
			page, err := l.Page(t.Context(), c.namespace, c.stack, after, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			read := int64(0)
			for _, chain := range page.Chains {
				texts = append(texts, fmt.Sprintf("%s/%s:%d", chain.Namespace, chain.Stack, len(chain.Items)))
				read += int64(len(chain.Items))
			}
			if store.reads.Load()-before != read {
				t.Errorf("%+v: %d reads for %d entries", c, store.reads.Load()-before, read)
			}
			got = append(got, strings.Join(texts, " "))
			if after = page.Next; after == "" {
				break
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v %s", c, diff)
		}
	}
}

// However long a chain is, a decision needs the last decision only.
func TestAppendingReadsLittle(t *testing.T) {
	store := &counting{Store: newStore(t)}
	l := &Ledger{Store: store}
	for i := range 60 {
		add(t, l, decision("p1", fmt.Sprint("Verdict-", i)))
	}
	store.reads.Store(0)
	add(t, l, decision("p1", "Held"))
	if n := store.reads.Load(); n != 1 {
		t.Errorf("%d entries are read to append a decision", n)
	}
	add(t, l, approval("p1", "ann"))
	store.reads.Store(0)
	add(t, l, decision("p1", "Approved"))
	if n := store.reads.Load(); n != 2 {
		t.Errorf("%d entries are read to append a decision after an approval", n)
	}
}
