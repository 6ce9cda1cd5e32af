// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestARunThatWaitsForAnEarlierServersRunnerSaysSo(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	first, second := h.stack, h.stack
	second.Name = "second"
	h.backend.starts("new")
	old := run.PollRequest{Runner: "one", Build: "old", Active: []string{"r1"}}

	h.stack = second
	h.begin(h.record("r2"))
	waits := func() string {
		t.Helper()
		rec, _, ok := h.exec.InHand(second)
		if !ok {
			t.Fatal("not in hand")
		}
		return rec.Waits
	}
	if got := waits(); got != "" {
		t.Errorf("before any runner was let go: %q", got)
	}
	h.pollWith(old)
	h.endedOnce()
	if got, want := waits(), run.WaitsForRunner+first.String(); got != want {
		t.Errorf("while it is at work: %q, want %q", got, want)
	}
	h.pollWith(old)
	if n := len(h.ended); n != 0 {
		t.Errorf("told %d times of what is known", n)
	}

	h.stack.Name = "third"
	h.begin(h.record("r3"))
	h.endedOnce() // its stack has to learn that it waits, too

	h.stack = first
	h.finish("r1", succeeded())
	h.endedOnce()
	h.pollWith(run.PollRequest{Runner: "two", Build: "new", Active: []string{ghost}})
	if n := len(h.ended); n != 2 {
		t.Errorf("%d stacks were told that it has left, want 2", n)
	}
	if got := waits(); got != "" {
		t.Errorf("when it has left: %q", got)
	}
}
