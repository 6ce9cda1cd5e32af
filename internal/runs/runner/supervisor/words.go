// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"regexp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// These are texts in the details of tofu and terraform. Their summaries are in package summary.

// lockField matches the fields of a lock below lockInfo.
var lockField = regexp.MustCompile(`(?m)^\s+(ID|Operation|Who|Created): +(.*\S)`)

const lockInfo = "Lock Info:"

// workspaceLock is the lock of a workspace of the backends cloud and remote, "ORGANIZATION/WORKSPACE". What they
// print below lockInfo is the attempt that failed: these backends do not tell who holds the lock.
var workspaceLock = regexp.MustCompile(`\(lock ID: "([^"\s]+)"\)`)

// lockOperations are the operations in the tool's locks.
var lockOperations = map[run.Step]string{run.StepPlan: "OperationTypePlan", run.StepApply: "OperationTypeApply"}

// HeardFates returns the planned changes in the output of a plan, which is masked.
func HeardFates(stream *plan.Stream) ([]run.Fate, int) {
	heard, total := stream.Fates()
	fates := make([]run.Fate, len(heard))
	for i, f := range heard {
		fates[i] = run.Fate{Address: f.Address, Match: f.Match, Action: string(f.Action)}
	}
	return fates, total
}

// matched adds the match of an address to an event, if masking changed the address.
func matched(event plan.Event, masked, raw []byte) plan.Event {
	if event.Resource == "" || bytes.Equal(masked, raw) {
		return event
	}
	if address := plan.ParseEvent(raw).Resource; address != event.Resource {
		event.Match = plan.Match(address)
	}
	return event
}
