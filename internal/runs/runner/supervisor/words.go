// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// These are texts of tofu and terraform: only its summary identifies a diagnostic. Compare new
// releases of the tools with this file.

// Summaries of diagnostics.
const (
	// staleSummary: the saved plan was made for an older state.
	staleSummary = "Saved plan is stale"
	// lockSummary: the state cannot be locked. releaseSummary: it could not be unlocked.
	lockSummary    = "Error acquiring the state lock"
	releaseSummary = "Error releasing the state lock"
	// backendSummary: the directory was initialised with another backend.
	backendSummary = "Backend configuration changed"
	// LockFileSummary: the lock file has the hashes of a mirror only.
	LockFileSummary = "Incomplete lock file information for providers"
)

// moduleSummaries mean that the list of modules does not fit the program.
var moduleSummaries = []string{"Module not installed", "Module source has changed", "Module version requirements have changed"}

// lockField matches the fields of a lock below lockInfo.
var lockField = regexp.MustCompile(`(?m)^\s+(ID|Operation|Who|Created): +(.*\S)`)

const lockInfo = "Lock Info:"

// lockOperations are the operations in the tool's locks.
var lockOperations = map[run.Step]string{run.StepPlan: "OperationTypePlan", run.StepApply: "OperationTypeApply"}

// AboutModules reports whether a failure is about the list of modules.
func AboutModules(f *fault.Failure) bool {
	if len(f.Said) == 0 {
		return slices.ContainsFunc(moduleSummaries, func(s string) bool { return strings.Contains(f.Error(), s) })
	}
	return slices.ContainsFunc(f.Said, func(d diagnostic.Diagnostic) bool { return slices.Contains(moduleSummaries, d.Summary) })
}

// AboutProviders reports whether a failure may be about providers; guessing wrong costs an init.
func AboutProviders(failed error) bool { return strings.Contains(failed.Error(), "provider") }

// SaysDiskFull reports whether a download failed on a full disk; the tool's error is text.
func SaysDiskFull(err error) bool { return strings.Contains(err.Error(), "no space left on device") }

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
