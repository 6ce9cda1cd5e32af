// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const log = `not JSON at all
{"time":"2026-01-02T03:04:05.000Z","msg":"decided","stack":"bench/a","decision":"rest (UpToDate); next check"}
{"time":"2026-01-02T03:04:05.100Z","msg":"decided","stack":"bench/a","decision":"plan-and-apply (DriftCheckDue): Comparing"}
{"time":"2026-01-02T03:04:05.110Z","msg":"decided","stack":"bench/b","decision":"rest (UpToDate)"}
{"time":"2026-01-02T03:04:05.120Z","msg":"decided","stack":"bench/a","decision":"await-run 1 (Progressing): Planning"}
{"time":"2026-01-02T03:04:05.130Z","msg":"something else","stack":"bench/a","decision":"rest (UpToDate)"}
{"time":"2026-01-02T03:04:05.150Z","msg":"decided","stack":"bench/a","decision":"rest (UpToDate); next check"}
{"time":"2026-01-02T03:04:06.000Z","msg":"decided","stack":"bench/a","decision":"plan-and-apply (DriftCheckDue): Comparing"}
{"time":"2026-01-02T03:04:06.075Z","msg":"decided","stack":"bench/a","decision":"rest (UpToDate); next check"}
{"time":"2026-01-02T03:04:07.000Z","msg":"decided","stack":"bench/a","decision":"plan-and-apply (DriftCheckDue): Comparing"}
`

func TestQuietPassesAreReadFromTheLog(t *testing.T) {
	want := []time.Duration{50 * time.Millisecond, 75 * time.Millisecond}
	for name, size := range map[string]int{"in one piece": len(log), "in pieces that end anywhere": 7} {
		t.Run(name, func(t *testing.T) {
			l := newDecisionLog()
			for rest := []byte(log); len(rest) > 0; {
				n := min(size, len(rest))
				if _, err := l.Write(bytes.Clone(rest[:n])); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			got, err := l.quietPasses(t.Context(), "bench/a", 2)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("passes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLooksAreCountedWhenTheyEnd(t *testing.T) {
	const a, b, c, due, rest = "bench/a", "bench/b", "bench/c", "plan (DriftCheckDue)", "rest (UpToDate)"
	all := []decision{{Stack: a, Decision: due}, {Stack: b, Decision: due}, {Stack: a, Decision: rest}, {Stack: c, Decision: rest}, {Stack: b, Decision: rest},
		{Stack: a, Decision: due}, {Stack: a, Decision: "wait (RunInProgress)"}, {Stack: a, Decision: rest}, {Stack: a, Decision: rest}}
	for name, w := range map[string]struct{ from, ended, stacks, since int }{
		"all of them":                     {0, 3, 2, 2},
		"one began before, and counts":    {3, 2, 2, 1},
		"none that ended before":          {5, 1, 1, 1},
		"rest that no look came before":   {8, 0, 0, 0},
		"a place that nothing came after": {9, 0, 0, 0},
	} {
		seen := newLooks(w.from)
		for _, d := range all {
			seen.see(d)
		}
		if seen.ended != w.ended || len(seen.stacks) != w.stacks || len(seen.since) != w.since {
			t.Errorf("%s: %d ended at %d stacks, %d of them begun since", name, seen.ended, len(seen.stacks), len(seen.since))
		}
	}
	l := newDecisionLog()
	l.decisions = all
	if stacks, err := l.looks(t.Context(), 3, 2); err != nil || stacks != 2 {
		t.Errorf("%d stacks, %v", stacks, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.lookedAtAll(ctx, 3, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("earlier checks count as new ones: %v", err)
	}
}

func TestAFleetIsSettledWhenAllOfItIsAtRest(t *testing.T) {
	const a, b = "bench/a", "bench/b"
	at := func(seconds int) time.Time { return time.Date(2026, 1, 2, 3, 4, seconds, 0, time.UTC) }
	for name, c := range map[string]struct {
		decisions []decision
		from      int
		want      settled
		waits     bool
	}{
		"nothing ran": {decisions: []decision{{at(1), "decided", a, "rest (UpToDate)"}, {at(2), "decided", b, "rest (UpToDate)"}},
			want: settled{last: at(2), decided: 2, ran: map[string]bool{}}},
		"one ran, and rests again": {decisions: []decision{{at(1), "decided", a, "plan-and-apply (ConfigChanged)"}, {at(2), "decided", b, "rest (UpToDate)"},
			{at(3), "decided", a, "await-run 1 (Progressing)"}, {at(4), "decided", a, "rest (UpToDate)"}},
			want: settled{last: at(4), decided: 2, ran: map[string]bool{a: true}}},
		"one was at rest and is not any more": {decisions: []decision{{at(1), "decided", a, "rest (UpToDate)"}, {at(2), "decided", b, "rest (UpToDate)"},
			{at(3), "decided", a, "plan (ConfigChanged)"}}, waits: true, want: settled{last: at(3), decided: 2, ran: map[string]bool{a: true}}},
		"what was before does not count": {decisions: []decision{{at(1), "decided", a, "plan (X)"}, {at(2), "decided", b, "rest (UpToDate)"},
			{at(3), "decided", a, "rest (UpToDate)"}}, from: 1, want: settled{last: at(3), decided: 2, ran: map[string]bool{}}},
		"one was not looked at": {decisions: []decision{{at(1), "decided", a, "rest (UpToDate)"}}, waits: true,
			want: settled{last: at(1), decided: 1, ran: map[string]bool{}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newDecisionLog()
			l.decisions = c.decisions
			ctx, cancel := context.WithCancel(t.Context())
			if c.waits {
				cancel() // the wait would never end
			}
			defer cancel()
			if !c.waits && c.want.decided != 2 {
				t.Fatal("a case that ends has both stacks")
			}
			got, err := l.settled(ctx, c.from, 2)
			if c.waits != errors.Is(err, context.Canceled) {
				t.Fatalf("error %v, waits %v", err, c.waits)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(settled{})); diff != "" {
				t.Errorf("settled (-want +got):\n%s", diff)
			}
		})
	}
}
