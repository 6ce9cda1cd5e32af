// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Action is one step of an attempt.
type Action string

// The actions.
const (
	// Done ends the attempt: the release is what it should be.
	Done Action = "done"
	// Stop ends the attempt: the release failed, and the policy allows no more.
	Stop Action = "stop"
	// Pause ends the attempt; the next one begins after Step.After.
	Pause Action = "pause"

	Unlock  Action = "unlock"
	Install Action = "install"
	Upgrade Action = "upgrade"
	Test    Action = "test"
	// Compare looks for drift, and Correct repairs it.
	Compare Action = "compare"
	Correct Action = "correct"
	// Rollback and Uninstall are remediations; Replace uninstalls a release of another chart.
	Rollback  Action = "rollback"
	Uninstall Action = "uninstall"
	Replace   Action = "replace"
)

// Step is the result of Next.
type Step struct {
	Action  Action
	Message string
	// To is the version to roll back to.
	To int
	// After is how long to pause.
	After time.Duration
	// Forget is true if the history does not describe the stored release any more.
	Forget bool
}

// The statuses of stored releases.
const (
	StatusDeployed    = "deployed"
	StatusFailed      = "failed"
	StatusSuperseded  = "superseded"
	StatusUninstalled = "uninstalled"
)

// State is what Next knows.
type State struct {
	// Stored are Helm's versions, History ours in the status, each with the last one first.
	Stored  []Version
	History []Known
	// Wanted is what the release should be.
	Wanted Wanted
	// Tried is true if this attempt has installed or upgraded: a failure of it is new.
	Tried bool
	// Forced is true if the user requested an upgrade that is not done yet.
	Forced bool
	// LastAction is the last install or upgrade; Failures counts those of the inputs of now.
	LastAction Action
	Failures   map[Action]int64
	// Policies are those of installs and upgrades.
	Policies map[Action]Policy
	Tests    Tests
	Drift    Drift
}

// Version is a stored version of a release.
type Version struct {
	Number         int
	Status, Digest string
	Wanted
}

// Wanted is what a release is made of.
type Wanted struct {
	Chart, ChartVersion, Config string
	// Rendering is the digest of what changes the rendered objects besides values.
	Rendering string
}

// Known is a version in the history.
type Known struct {
	Number         int
	Digest, Status string
	// Tested is true if its tests ran, and TestFailed if one failed.
	Tested, TestFailed bool
}

// Policy is what to do after failures of an action.
type Policy struct {
	// Retries is the number of more attempts; negative for no limit.
	Retries int
	// RemediateLast is true if the last failure is remediated, too.
	RemediateLast bool
	// Uninstall is true if the remediation is not a rollback.
	Uninstall bool
	// IgnoreTests is true if failed tests are no failure.
	IgnoreTests bool
	// Retry is the pause after a failure, before an attempt upgrades again without remediation; 0 for
	// remediation.
	Retry time.Duration
}

// exhausted reports whether the policy allows no more attempts.
func (p Policy) exhausted(failures int64) bool { return p.Retries >= 0 && failures > int64(p.Retries) }

// Tests is spec.test.
type Tests struct{ Enabled, Ignored bool }

// Drift is spec.driftDetection, and what this attempt has found.
type Drift struct {
	Detect, Correct     bool
	Compared, Corrected bool
	Objects             int
	// Rename is true if a release of another chart is upgraded in place.
	Rename bool
}

// Next decides the next step of an attempt. The first rule that matches wins.
func Next(s State) Step {
	last, known := latest(s)
	switch {
	case last == nil || last.Status == StatusUninstalled:
		return absent(s)
	// Its operation was interrupted: Helm refuses to go on.
	case strings.HasPrefix(last.Status, "pending-") || last.Status == "uninstalling":
		return Step{Action: Unlock, Message: fmt.Sprintf("version %d is %s, because its operation was interrupted", last.Number, last.Status)}
	// Somebody else installed or changed it.
	case known == nil:
		return Step{Action: Upgrade, Forget: true, Message: "the stored release is not the one that was last installed here"}
	case s.Forced && s.LastAction != "":
		return Step{Action: Upgrade, Message: "an upgrade was requested"}
	case last.Status == StatusFailed:
		return failed(s, fmt.Sprintf("version %d failed", last.Number))
	case last.Status != StatusDeployed:
		return Step{Action: Upgrade, Forget: true, Message: fmt.Sprintf("version %d is %s", last.Number, last.Status)}
	case last.Chart != s.Wanted.Chart && !s.Drift.Rename:
		return Step{Action: Replace, Message: fmt.Sprintf("the chart changes from %s to %s", last.Chart, s.Wanted.Chart)}
	case differs(last.Wanted, s.Wanted) != "":
		return outdated(s, differs(last.Wanted, s.Wanted))
	case s.Tests.Enabled && !known.Tested:
		return Step{Action: Test, Message: "its tests have not run"}
	case s.Tests.Enabled && known.TestFailed && !s.Tests.Ignored && !s.Policies[s.LastAction].IgnoreTests:
		return failed(s, "its tests failed")
	}
	return compared(s)
}

// latest returns the last stored version, and what the history knows of it.
func latest(s State) (*Version, *Known) {
	if len(s.Stored) == 0 {
		return nil, nil
	}
	last := &s.Stored[0]
	for i := range s.History {
		if k := &s.History[i]; k.Number == last.Number {
			if k.Digest == last.Digest {
				return last, k
			}
			return last, nil
		}
	}
	return last, nil
}

// absent installs, if the policy allows it.
func absent(s State) Step {
	if step, retries := pausing(s, Install, "the install failed"); retries {
		return step
	}
	if n := s.Failures[Install]; n > 0 && s.Policies[Install].exhausted(n) && !s.Forced {
		return Step{Action: Stop, Message: fmt.Sprintf("Failed to install after %d attempt(s)", n)}
	}
	return Step{Action: Install, Message: "no release is stored"}
}

// outdated upgrades, if the policy allows it.
func outdated(s State, why string) Step {
	if step, retries := pausing(s, Upgrade, "the upgrade failed"); retries {
		return step
	}
	if n := s.Failures[Upgrade]; n > 0 && s.Policies[Upgrade].exhausted(n) {
		return Step{Action: Stop, Message: fmt.Sprintf("Failed to upgrade after %d attempt(s)", n)}
	}
	return Step{Action: Upgrade, Message: why}
}

// pauseOver ends the message of a retry.
const pauseOver = ", and its pause is over"

// pausing retries an action that failed before a version was stored, if its policy pauses after failures.
func pausing(s State, action Action, why string) (Step, bool) {
	policy := s.Policies[action]
	switch {
	case policy.Retry <= 0 || s.Failures[action] == 0:
		return Step{}, false
	case s.Tried:
		return Step{Action: Pause, After: policy.Retry, Message: why}, true
	}
	return Step{Action: action, Message: why + pauseOver}, true
}

func differs(is, wanted Wanted) string {
	switch {
	case is.Chart != wanted.Chart || is.ChartVersion != wanted.ChartVersion:
		return fmt.Sprintf("the chart changes from %s@%s to %s@%s", is.Chart, is.ChartVersion, wanted.Chart, wanted.ChartVersion)
	case is.Config != wanted.Config:
		return "the values have changed"
	case is.Rendering != wanted.Rendering:
		return "spec.postRenderers or spec.commonMetadata have changed"
	}
	return ""
}

// failed decides what follows a failure.
func failed(s State, why string) Step {
	n, policy := s.Failures[s.LastAction], s.Policies[s.LastAction]
	switch {
	// An input has changed, or we do not know what failed.
	case n == 0 || s.LastAction == "":
		return Step{Action: Upgrade, Message: why + ", with other inputs"}
	case policy.Retry > 0 && s.Tried:
		return Step{Action: Pause, After: policy.Retry, Message: why}
	case policy.Retry > 0:
		return Step{Action: Upgrade, Message: why + pauseOver}
	case policy.exhausted(n) && !policy.RemediateLast:
		return Step{Action: Stop, Message: fmt.Sprintf("Failed to %s after %d attempt(s)", s.LastAction, n)}
	case s.LastAction == Install || policy.Uninstall:
		return Step{Action: Uninstall, Message: why}
	}
	if to := previous(s, policy.IgnoreTests || s.Tests.Ignored); to > 0 {
		return Step{Action: Rollback, To: to, Message: why}
	}
	if policy.exhausted(n) {
		return Step{Action: Stop, Message: fmt.Sprintf("Failed to %s after %d attempt(s), and no earlier version is stored to roll back to", s.LastAction, n)}
	}
	return Step{Action: Upgrade, Message: why + ", and no earlier version is stored"}
}

// previous returns the version to roll back to; 0 for none. It was good, it is stored, and it is ours.
func previous(s State, ignoreTests bool) int {
	if len(s.History) == 0 {
		return 0
	}
	for _, k := range s.History {
		if k.Number >= s.Stored[0].Number || k.Status != StatusDeployed && k.Status != StatusSuperseded || k.TestFailed && !ignoreTests {
			continue
		}
		if slices.ContainsFunc(s.Stored, func(v Version) bool { return v.Number == k.Number && v.Digest == k.Digest }) {
			return k.Number
		}
	}
	return 0
}

// compared looks for drift once an attempt.
func compared(s State) Step {
	switch {
	case s.Drift.Detect && !s.Drift.Compared:
		return Step{Action: Compare, Message: "spec.driftDetection"}
	case s.Drift.Correct && s.Drift.Objects > 0 && !s.Drift.Corrected:
		return Step{Action: Correct, Message: fmt.Sprintf("%d object(s) differ from the release", s.Drift.Objects)}
	}
	return Step{Action: Done}
}
