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

// triggers are looked at in order; the first that holds is the run's reason.
var triggers = []trigger{
	{ReasonRequested, func(f Facts) (string, bool) {
		return "Reconciliation was requested", requested(f)
	}},
	// The outage in which it failed is over, which is a change like any other: attempts that it took do not count.
	{ReasonCircuitClosed, func(f Facts) (string, bool) {
		return "The outage in which the last run failed is over", resumes(f) && !resumesLater(f)
	}},
	// Somebody allowed to break the lock that was in the way: no need to wait for the next attempt.
	{ReasonForceUnlock, func(f Facts) (string, bool) {
		return "The lock that blocked the last run may now be broken",
			lastFailedSameConfig(f) && mayBreak(f.Stack, f.Last.Lock) && f.Last.Generation != 0 && f.Last.Generation != f.Stack.Generation
	}},
	{ReasonRetry, func(f Facts) (string, bool) {
		return "The stack or its source has changed since all attempts failed", lastFailedSameConfig(f) && attemptsSpent(f) && changedSinceLast(f)
	}},
	// A failure is retried after its interval, but a changed configuration does not wait for it.
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
	{ReasonConfigChanged, func(f Facts) (string, bool) {
		return "The configuration changed", configMoved(f) && !lastFailedSameConfig(f)
	}},
	// Somebody wrote the state since, or the plan's bytes are lost: what people would approve is not what would happen.
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
	// Whoever switches force on, or changes a forced stack, wants it applied now and not on the interval.
	{ReasonForced, func(f Facts) (string, bool) {
		return "The stack has changed, and spec.force applies changes", f.Stack.Force && appliesByItself(f.Stack) &&
			f.Stack.Generation != f.Stack.PlannedGeneration && !lastFailedSameConfig(f)
	}},
	{ReasonDriftDue, driftDue},
}

func requested(f Facts) bool { return f.Stack.Requested != "" && f.Stack.Requested != f.Stack.Handled }

// sameConfig says whether the last run was about the configuration as it is now.
func sameConfig(f Facts) bool { return f.Last != nil && f.Last.Config == f.Config }

// configMoved: a configuration that was concluded before, but left again by a run that did not succeed, counts as
// moved too; what that run did or voided belongs to neither.
func configMoved(f Facts) bool {
	left := f.Last != nil && !sameConfig(f) && (unsuccessful(f.Last) || f.Last.Canceled)
	return f.Stack.PlannedConfig != f.Config || left
}

// modulesMayMove says whether a plan is due only if modules have moved. Whatever else calls for one makes it in any case.
func modulesMayMove(f Facts) bool {
	if !f.OnlyModules || !configMoved(f) || f.Stack.PlannedConfig == "" || f.Pending != nil || f.Takeover != nil ||
		f.Stack.Generation != f.Stack.PlannedGeneration || f.Last != nil && unsuccessful(f.Last) {
		return false
	}
	_, due := driftDue(f)
	return !due
}

func unsuccessful(r *Run) bool { return r.Failed || r.Interrupted }

func lastFailedSameConfig(f Facts) bool { return sameConfig(f) && unsuccessful(f.Last) }

// retries says whether time alone brings another attempt after the last run. An interruption says nothing about the
// configuration, a stack that says how often to try gets its attempts, and what a person canceled gets none.
func retries(f Facts) bool {
	return !usedUp(f) && !f.Last.Stopped && (f.Last.Interrupted || !f.Last.Waits || f.Stack.MaxFailures > 0)
}

// attemptsSpent says whether as many runs in a row failed as the stack allows, usedUp that nothing changed since then that
// would begin the count anew.
func attemptsSpent(f Facts) bool {
	return outOfAttempts(f, failures(f))
}

// failures counts the runs that failed in a row. Inputs that were missing since and came back are a change.
func failures(f Facts) int {
	if !f.Refused.At.IsZero() {
		return 0
	}
	return f.Last.Failures
}

func usedUp(f Facts) bool { return attemptsSpent(f) && !changedSinceLast(f) }

// changedSinceLast says whether the object or its source has changed since the last run was started, be it in a way that
// the configuration does not show.
func changedSinceLast(f Facts) bool {
	l := f.Last
	return l.Generation != 0 && l.Generation != f.Stack.Generation || l.Revision != "" && l.Revision != f.Source.Revision
}

func retryDue(f Facts) bool { return !f.Now.Before(retryAt(f)) }

func retryAt(f Facts) time.Time { return f.Last.Finished.Add(retryWait(f.Stack, failures(f))) }

// retryWait is how long the next attempt waits after so many failures in a row.
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

// lookAgain is when to look at something that is watched, in case its event was lost.
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

// watchesDrift: a stack that was told to be destroyed has nothing to drift; a forced one is planned on its interval
// even when drift detection is off.
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
		} else if appliesByItself(f.Stack) && !pendingRejected(f) && f.Takeover == nil {
			d.Verb, d.Describe = VerbPlanAndApply, false
		}
		return d, true
	}
	return Decision{}, false
}

// looksForDrift says whether a plan made for the reason compares a stack with the world of which nothing on this side has
// changed, so that what it finds is drift. Looking again at a plan that waits is not drift detection, unless drift is what
// that plan is about. Nor is another attempt at what failed, unless that was a look for drift which changed nothing.
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

// isRetry: what failed before another change is not held against what is tried now.
func isRetry(f Facts, reason string) bool {
	return (reason == ReasonRetry || reason == ReasonInterrupted) && unsuccessful(f.Last) && !changedSinceLast(f)
}

// nextLook is when time alone will change the decision; zero when it never does.
func nextLook(f Facts) time.Time {
	if lastFailedSameConfig(f) {
		if retries(f) {
			return retryAt(f)
		}
		return time.Time{}
	}
	if watchesDrift(f) {
		return f.LastDriftCheck.Add(lookInterval(f))
	}
	return time.Time{}
}

// lookInterval is how often a stack is compared with the world. One that reads the world while planning is never proven
// by its configuration alone: it is planned on the object's own interval, however much later drift is looked for. That
// drift is not looked for at all says that nothing is to be planned by the clock, and is obeyed.
func lookInterval(f Facts) time.Duration {
	if f.ReadsWorld != "" && f.Stack.WorldInterval > 0 {
		return min(f.Stack.Interval, f.Stack.WorldInterval)
	}
	return f.Stack.Interval
}

// lookMessage says why the stack is compared with the world now.
func lookMessage(f Facts) string {
	if f.Now.Before(f.LastDriftCheck.Add(f.Stack.Interval)) {
		return "Planning again because the program reads external data: " + f.ReadsWorld
	}
	if f.Stack.Force && appliesByItself(f.Stack) {
		return "Planning and applying on the interval (spec.force)"
	}
	return "Checking for drift"
}
