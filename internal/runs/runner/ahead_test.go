// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
)

func TestAPassThatFindsNothingAsksTheServerForLittle(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("warm", run.OperationPlanAndApply, program(tenThings))
	b.succeed(first)
	second := first.again(run.OperationPlanAndApply)
	b.succeed(second)
	slices.Sort(second.requests)
	// The log of a slow pass comes in more than one piece.
	if diff := cmp.Diff([]string{"GET state", "POST result", "PUT log"}, slices.Compact(second.requests)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestAnOlderServerIsAskedForTheSpec(t *testing.T) {
	b := newBench(t)
	b.server.older = true
	r := b.start().stack("asked", run.OperationPlan, program(tenThings))
	b.succeed(r)
	if !slices.Contains(r.requests, "GET ") {
		t.Errorf("requests: %q", r.requests)
	}
}

func TestAStateThatWasFetchedAheadIsUsedWhileItIsFresh(t *testing.T) {
	b := newBench(t)
	r := b.stack("ahead", run.OperationPlan, program(tenThings))
	r.state = []byte("now")
	b.server.submit(r)
	own := &runner{equipment: &equipment{opts: b.opts, server: link.New(b.opts.Dir, "test")}}
	for want, at := range map[string]time.Time{"before": time.Now(), "now": time.Now().Add(-2 * freshState)} {
		j := own.newJob(r.spec.ID, r.token)
		j.keeper.ahead = make(chan fetchedState, 1)
		j.keeper.ahead <- fetchedState{status: 200, data: []byte("before"), at: at}
		if got := j.keeper.currentState(t.Context()); got.err != nil || string(got.data) != want {
			t.Errorf("fetched %s ago: %q, %v, want %q", time.Since(at), got.data, got.err, want)
		}
	}
}
