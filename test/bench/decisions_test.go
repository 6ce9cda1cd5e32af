// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
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
