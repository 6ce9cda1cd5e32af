// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// The words of tofu and terraform that decisions here depend on. The tools' machine-readable output has no codes: a
// diagnostic is known by its summary only, and a lock is described in prose. Whatever a decision reads in the tools' text
// is named in this file, so that a new release of theirs can be compared with it.

// Summaries of diagnostics.
const (
	// staleSummary says that a saved plan is of an older state.
	staleSummary = "Saved plan is stale"
	// lockSummary says that the state's lock cannot be taken, releaseSummary that it could not be given back.
	lockSummary    = "Error acquiring the state lock"
	releaseSummary = "Error releasing the state lock"
	// backendSummary says that the backend is not the one that the directory remembers.
	backendSummary = "Backend configuration changed"
	// lockFileSummary warns of a lock file that was made from a mirror.
	lockFileSummary = "Incomplete lock file information for providers"
)

// moduleSummaries say that the list of modules is not as the program needs it.
var moduleSummaries = []string{"Module not installed", "Module source has changed", "Module version requirements have changed"}

// lockField finds the lines of a lock that the tool describes below lockInfo.
var lockField = regexp.MustCompile(`(?m)^\s+(ID|Operation|Who|Created): +(.*\S)`)

const lockInfo = "Lock Info:"

// lockOperations are how the tool names in locks what its commands do.
var lockOperations = map[run.Step]string{run.StepPlan: "OperationTypePlan", run.StepApply: "OperationTypeApply"}

// aboutModules says whether a failure is over modules that are not as the program needs them. A tool whose init knows no
// -json gives text.
func (f *failure) aboutModules() bool {
	if len(f.said) == 0 {
		return slices.ContainsFunc(moduleSummaries, func(s string) bool { return strings.Contains(f.Error(), s) })
	}
	return slices.ContainsFunc(f.said, func(d diagnostic.Diagnostic) bool { return slices.Contains(moduleSummaries, d.Summary) })
}

// aboutProviders says whether a failure may be over providers. The tool has a dozen summaries for that, and one that is
// mistaken for it costs another init.
func aboutProviders(failed error) bool { return strings.Contains(failed.Error(), "provider") }

// saysDiskFull says whether a tool that downloads ended for want of disk: its error reaches us as text only.
func saysDiskFull(err error) bool { return strings.Contains(err.Error(), "no space left on device") }

// ofTool is the failure of a tool in err that no wish ended; nil for any other error.
func ofTool(err error) *failure {
	var f *failure
	if !errors.As(err, &f) || f.outcome != "" {
		return nil
	}
	return f
}
