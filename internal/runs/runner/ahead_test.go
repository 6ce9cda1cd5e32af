// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestAPassThatFindsNothingAsksTheServerForLittle(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("warm", run.OperationPlanAndApply, program(tenThings))
	b.succeed(first)
	second := first.again(run.OperationPlanAndApply)
	b.succeed(second)
	slices.Sort(second.requests)
	// A slow run's log arrives in several pieces.
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
