// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"time"
)

// trigger is a reason to plan: a condition in words.
type trigger struct {
	reason string
	holds  func(Facts) (message string, ok bool)
}

// triggers are evaluated in order; the first that holds is the run's reason.
var triggers = []trigger{
	{ReasonRequested, func(f Facts) (string, bool) {
		return "Reconciliation was requested", requested(f)
	}},
	// The end of the outage counts as a change: attempts during it do not count.
	{ReasonCircuitClosed, func(f Facts) (string, bool) {
		return "The outage in which the last run failed is over", resumes(f) && !resumesLater(f)
	}},
	// Somebody allowed breaking the lock: do not wait for the next attempt.
	{ReasonForceUnlock, func(f Facts) (string, bool) {
		return "The lock that blocked the last run may now be broken",
			lastFailedSameConfig(f) && mayBreak(f.Stack, f.Last.Lock) && f.Last.Generation != 0 && f.Last.Generation != f.Stack.Generation
	}},
	{ReasonRetry, func(f Facts) (string, bool) {
		return "The stack or its source has changed since all attempts failed", lastFailedSameConfig(f) && attemptsSpent(f) && changedSinceLast(f) && !resumesLater(f)
	}},
	{ReasonRetry, func(f Facts) (string, bool) {
		return "The policies that refused the last run have changed", lastFailedSameConfig(f) && f.Last.RefusedBy != "" && f.Last.RefusedBy != f.Policy.Set && f.Policy.Problem == "" && !usedUp(f) && !canceled(f)
	}},
	{ReasonRetry, func(f Facts) (string, bool) {
		return "The policies that refused the last run may now allow it", refusalEnds(f) && !f.Now.Before(f.Last.RefusedUntil)
	}},
	// A failure is retried after its interval; a changed configuration does not wait.
	{ReasonInterrupted, func(f Facts) (string, bool) {
		return "The last run was interrupted; planning again first",
			lastFailedSameConfig(f) && f.Last.Interrupted && retries(f) && retryDue(f)
	}},
	{ReasonRetry, func(f Facts) (string, bool) {
		return "The last run failed", lastFailedSameConfig(f) && retries(f) && retryDue(f)
	}},
	{ReasonRetry, func(f Facts) (string, bool) {
		return "The last run was stopped before it changed anything", sameConfig(f) && f.Last.Canceled && !unsuccessful(f.Last)
	}},
	{ReasonFirstPlan, func(f Facts) (string, bool) {
		message := "The stack has not been planned yet"
		if f.Stack.AppliedOnce || f.Pending != nil {
			message = "A fresh plan is needed"
		}
		return message, f.Stack.PlannedConfig == "" && !lastFailedSameConfig(f)
	}},
	{ReasonModulesMayMove, func(f Facts) (string, bool) {
		return "The source has a new revision; modules referenced by branch, tag or version range may have changed", modulesMayMove(f)
	}},
	{ReasonContractChanged, func(f Facts) (string, bool) {
		return sentence(f.Contracts.Changed), f.Contracts.Changed != "" && f.Stack.AppliedOnce && configMoved(f) && !lastFailedSameConfig(f)
	}},
	{ReasonConfigChanged, func(f Facts) (string, bool) {
		return "The configuration changed", configMoved(f) && !lastFailedSameConfig(f)
	}},
	// The state changed or the plan's file is lost: the apply would not do what was approved.
	{ReasonPlanStale, func(f Facts) (string, bool) {
		if f.Pending == nil || lastFailedSameConfig(f) {
			return "", false
		}
		because := staleBecause(f)
		return because, because != ""
	}},
	{ReasonReplan, func(f Facts) (string, bool) {
		return "The source has a new revision, and approvePlan asks for a new plan",
			f.Stack.ReplanOnRevision && f.Pending != nil && f.Source.Revision != f.Stack.PlannedRevision && !lastFailedSameConfig(f)
	}},
	// A person who sets force, or changes a forced stack, expects an apply now.
	{ReasonForced, func(f Facts) (string, bool) {
		return "The stack has changed, and spec.force applies changes", f.Stack.Force && appliesByItself(f.Stack) &&
			f.Stack.Generation != f.Stack.PlannedGeneration && !lastFailedSameConfig(f)
	}},
	{ReasonDriftDue, driftDue},
}

func requested(f Facts) bool { return f.Stack.Requested != "" && f.Stack.Requested != f.Stack.Handled }

// sameConfig reports whether the last run had the current configuration.
func sameConfig(f Facts) bool { return f.Last != nil && f.Last.Config == f.Config }

// configMoved reports a change since the last conclusive plan. A configuration that a failed run
// left again counts as changed, too.
func configMoved(f Facts) bool {
	left := f.Last != nil && !sameConfig(f) && (unsuccessful(f.Last) || f.Last.Canceled)
	return f.Stack.PlannedConfig != f.Config || left
}

// modulesMayMove reports whether a plan is due only if modules have moved. With any other reason
// the stack is planned in any case.
func modulesMayMove(f Facts) bool {
	if !f.OnlyModules || !configMoved(f) || f.Stack.PlannedConfig == "" || f.Pending != nil || f.Takeover != nil ||
		f.Stack.Generation != f.Stack.PlannedGeneration || f.Last != nil && unsuccessful(f.Last) {
		return false
	}
	_, due := driftDue(f)
	return !due
}

// refusalEnds: policies refused the last run after its init, and time alone may change their answer.
func refusalEnds(f Facts) bool {
	return lastFailedSameConfig(f) && f.Last.RefusedBy != "" && !f.Last.RefusedUntil.IsZero() && f.Policy.Problem == "" && !usedUp(f) && !canceled(f)
}

func unsuccessful(r *Run) bool { return r.Failed || r.Interrupted }

func lastFailedSameConfig(f Facts) bool { return sameConfig(f) && unsuccessful(f.Last) }

// retries reports whether Yuba retries without a change. An interruption says nothing about the
// configuration; a stack with a limit of attempts uses all of them; a canceled run is not retried.
func retries(f Facts) bool {
	return !usedUp(f) && !f.Last.Stopped && (f.Last.Interrupted || !f.Last.Waits || f.Stack.MaxFailures > 0)
}

// attemptsSpent reports whether as many runs in a row failed as the stack allows; usedUp also that
// nothing has changed since.
func attemptsSpent(f Facts) bool {
	return outOfAttempts(f, failures(f))
}

// failures counts failed runs in a row. Inputs that were missing and came back are a change.
func failures(f Facts) int {
	if !f.Refused.At.IsZero() {
		return 0
	}
	return f.Last.Failures
}

func usedUp(f Facts) bool { return attemptsSpent(f) && !changedSinceLast(f) }

// changedSinceLast reports whether the object or its source changed since the last run began, even
// if the configuration did not.
func changedSinceLast(f Facts) bool {
	l := f.Last
	return l.Generation != 0 && l.Generation != f.Stack.Generation || l.Revision != "" && l.Revision != f.Source.Revision
}

func retryDue(f Facts) bool { return !f.Now.Before(retryAt(f)) }

func retryAt(f Facts) time.Time { return f.Last.Finished.Add(retryWait(f.Stack, failures(f))) }

// retryWait is the wait after this many failures in a row.
func retryWait(s Stack, failures int) time.Duration {
	wait, longest := retryInterval(s), s.MaxRetryInterval
	if longest <= 0 {
		return wait
	}
	for range failures {
		if wait >= longest {
			break
		}
		wait *= 2
	}
	return max(min(wait, longest), minRetryInterval)
}

// lookAgain is the next check of a watched object, in case its event was lost.
func lookAgain(f Facts) time.Time { return f.Now.Add(retryInterval(f.Stack)) }

// minRetryInterval keeps `retryInterval: 0s` from starting one run right after another.
const minRetryInterval = time.Second

func retryInterval(s Stack) time.Duration { return max(s.RetryInterval, minRetryInterval) }

func driftDue(f Facts) (string, bool) {
	if !watchesDrift(f) || lastFailedSameConfig(f) {
		return "", false
	}
	return lookMessage(f), !f.Now.Before(f.LastDriftCheck.Add(lookInterval(f)))
}

// watchesDrift reports whether drift is checked. A destroyed stack cannot drift; a forced one is
// planned on its interval even without drift detection.
func watchesDrift(f Facts) bool {
	if f.Stack.Destroy || f.Stack.Interval <= 0 {
		return false
	}
	return f.Stack.DetectDrift || (f.Stack.Force && f.Stack.Mode != ModeDisabled)
}

func reasonToPlan(f Facts) (Decision, bool) {
	for _, t := range triggers {
		message, ok := t.holds(f)
		if !ok {
			continue
		}
		d := Decision{Verb: VerbPlan, Reason: t.reason, Message: message, Purpose: PurposeDeploy,
			Destroy: f.Stack.Destroy, Describe: true, Again: isRetry(f, t.reason)}
		if looksForDrift(f, t.reason) {
			d.Purpose = PurposeDrift
		}
		if d.Hold = holdsBack(f); d.Hold != "" {
			d.Purpose = lookOrDeploy(f)
		} else if appliesByItself(f.Stack) && !pendingRejected(f) && f.Takeover == nil && !reviewsByPolicy(f) {
			d.Verb, d.Describe = VerbPlanAndApply, false
		}
		return d, true
	}
	return Decision{}, false
}

// looksForDrift reports whether a plan for this reason compares an unchanged stack with the real
// infrastructure, so that its changes are drift. A repeated pending plan is drift detection only if
// the plan is about drift; a retry only if a drift check failed without changing anything.
func looksForDrift(f Facts, reason string) bool {
	if !f.Stack.DetectDrift || f.Stack.Destroy || f.Stack.PlannedConfig != f.Config || f.Pending != nil && !f.Pending.Drift {
		return false
	}
	again := f.Last != nil && f.Last.Purpose == PurposeDrift && !f.Last.ApplyStarted
	switch reason {
	case ReasonDriftDue:
		return true
	case ReasonRequested, ReasonForced:
		return again || !lastFailedSameConfig(f)
	case ReasonRetry, ReasonInterrupted, ReasonCircuitClosed:
		return again
	}
	return false
}

// isRetry reports whether the failures so far count: a change resets them.
func isRetry(f Facts, reason string) bool {
	return (reason == ReasonRetry || reason == ReasonInterrupted) && unsuccessful(f.Last) && !changedSinceLast(f)
}

// nextLook is when the decision changes without an event; zero for never.
func nextLook(f Facts) time.Time {
	if lastFailedSameConfig(f) {
		if retries(f) {
			return retryAt(f)
		}
		if refusalEnds(f) {
			return f.Last.RefusedUntil
		}
		return time.Time{}
	}
	if watchesDrift(f) {
		return f.LastDriftCheck.Add(lookInterval(f))
	}
	return time.Time{}
}

// lookInterval is the interval of drift detection. A program that reads external data uses the
// object's own interval instead. Disabled drift detection disables both.
func lookInterval(f Facts) time.Duration {
	if f.ReadsWorld != "" && f.Stack.WorldInterval > 0 {
		return min(f.Stack.Interval, f.Stack.WorldInterval)
	}
	return f.Stack.Interval
}

// lookMessage says why Yuba checks the stack for drift now.
func lookMessage(f Facts) string {
	if f.Now.Before(f.LastDriftCheck.Add(f.Stack.Interval)) {
		return "Planning again because the program reads external data: " + f.ReadsWorld
	}
	if f.Stack.Force && appliesByItself(f.Stack) {
		return "Planning and applying on the interval (spec.force)"
	}
	return "Checking for drift"
}
