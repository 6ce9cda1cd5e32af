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

// The words of tofu and terraform that decisions here depend on. The tools' machine-readable output has no codes: only its
// summary identifies a diagnostic, and a lock is described in prose. All text that a decision reads is named in this file,
// so that new releases of the tools can be compared with it.

// Summaries of diagnostics.
const (
	// staleSummary says that a saved plan is of an older state.
	staleSummary = "Saved plan is stale"
	// lockSummary says that the state's lock cannot be taken, releaseSummary that it could not be given back.
	lockSummary    = "Error acquiring the state lock"
	releaseSummary = "Error releasing the state lock"
	// backendSummary says that the backend is not the one that the directory remembers.
	backendSummary = "Backend configuration changed"
	// LockFileSummary warns of a lock file that was made from a mirror.
	LockFileSummary = "Incomplete lock file information for providers"
)

// moduleSummaries say that the list of modules is not as the program needs it.
var moduleSummaries = []string{"Module not installed", "Module source has changed", "Module version requirements have changed"}

// lockField finds the lines of a lock that the tool describes below lockInfo.
var lockField = regexp.MustCompile(`(?m)^\s+(ID|Operation|Who|Created): +(.*\S)`)

const lockInfo = "Lock Info:"

// lockOperations are how the tool names in locks what its commands do.
var lockOperations = map[run.Step]string{run.StepPlan: "OperationTypePlan", run.StepApply: "OperationTypeApply"}

// AboutModules says whether a failure is about modules that are not as the program needs them. A tool whose init has no
// -json prints text.
func AboutModules(f *fault.Failure) bool {
	if len(f.Said) == 0 {
		return slices.ContainsFunc(moduleSummaries, func(s string) bool { return strings.Contains(f.Error(), s) })
	}
	return slices.ContainsFunc(f.Said, func(d diagnostic.Diagnostic) bool { return slices.Contains(moduleSummaries, d.Summary) })
}

// AboutProviders says whether a failure may be about providers. The tools have a dozen summaries for that; a wrong guess
// costs another init.
func AboutProviders(failed error) bool { return strings.Contains(failed.Error(), "provider") }

// SaysDiskFull says whether a download failed because the disk is full: the tool's error reaches us as text only.
func SaysDiskFull(err error) bool { return strings.Contains(err.Error(), "no space left on device") }

// HeardFates are those that the stream of a plan tells of, which is masked.
func HeardFates(stream *plan.Stream) ([]run.Fate, int) {
	heard, total := stream.Fates()
	fates := make([]run.Fate, len(heard))
	for i, f := range heard {
		fates[i] = run.Fate{Address: f.Address, Match: f.Match, Action: string(f.Action)}
	}
	return fates, total
}

// matched has an event say what its address is known by, if that was masked in the line.
func matched(event plan.Event, masked, raw []byte) plan.Event {
	if event.Resource == "" || bytes.Equal(masked, raw) {
		return event
	}
	if address := plan.ParseEvent(raw).Resource; address != event.Resource {
		event.Match = plan.Match(address)
	}
	return event
}
