// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"
)

// rule looks at one situation: it answers with a decision, or false when the situation is another.
type rule struct {
	name   string
	decide func(Facts) (Decision, bool)
}

// liveRules are evaluated in order for a stack that is not being deleted; the first match wins.
var liveRules = []rule{
	// A run in hand comes before suspension: a suspended stack's run is still watched and recorded.
	{"a run is in hand", runInHand},
	// Suspension stops everything that has not begun.
	{"suspended", suspended},
	// Without a source there is nothing to plan; what was planned from an older one must not be applied either, for
	// approvals and code come from the same commit in many repositories.
	{"source is not ready", sourceNotReady},
	// Wrong or missing inputs are named before any process is started.
	{"inputs are not ready", inputsNotReady},
	// A state that cannot be read is never overwritten.
	{"state cannot be used", stateUnusable},
	// Nothing runs over somebody else's lock: their apply may move what we would plan on.
	{"somebody else holds the lock", locked},
	// An exactly approved plan that still fits is applied as it is.
	{"pending plan is approved", pendingApproved},
	// Reasons to plan, see below.
	{"there is a reason to plan", reasonToPlan},
	// Otherwise a pending plan waits for a person.
	{"pending plan waits", pendingWaits},
	{"all is as it should be", rest},
}

// deletionRules are evaluated in order for a stack that is being deleted.
var deletionRules = []rule{
	{"a run is in hand", deletionAwaitsRun},
	// Nothing to destroy: no source, lock or person is needed to let the object go.
	{"resources are kept", deletionKeepsResources},
	{"nothing was ever applied", deletionOfNothing},
	{"destroy is done", deletionDone},
	{"suspended", deletionSuspended},
	{"state cannot be used", stateUnusable},
	{"somebody else holds the lock", locked},
	{"the last attempt failed", deletionBackoff},
	{"neither source nor kept inputs", deletionImpossible},
	{"destroy", deletionDestroys},
}

// Decide says what to do next.
func Decide(f Facts) Decision {
	rules := liveRules
	if f.Stack.Deleting {
		rules = deletionRules
	}
	for _, r := range rules {
		if d, ok := r.decide(f); ok {
			return d
		}
	}
	return Decision{Verb: VerbFail, Reason: "NoRule", Message: "No rule fits. This is a bug in Yuba."}
}

func runInHand(f Facts) (Decision, bool) {
	c := f.Current
	if c == nil {
		return Decision{}, false
	}
	// Only what changes nothing can be given up; an apply is always awaited.
	if !c.Apply && !c.Canceled && f.Config != "" && c.Config != f.Config {
		return Decision{Verb: VerbCancel, Subject: c.ID, Reason: ReasonSuperseded,
			Message: "The configuration changed while it was being planned"}, true
	}
	return Decision{Verb: VerbAwaitRun, Subject: c.ID, Reason: ReasonProgressing, Message: progress(c)}, true
}

func progress(c *Run) string {
	switch {
	case c.Canceled:
		return "Stopping a plan that is no longer wanted"
	case c.Purpose == PurposeDelete:
		return "Deletion in progress"
	case c.Apply:
		return "Applying"
	}
	return "Terraform Planning"
}

func suspended(f Facts) (Decision, bool) {
	if !f.Stack.Suspended {
		return Decision{}, false
	}
	return Decision{Verb: VerbRest, Reason: ReasonSuspended, Message: "Suspended by spec.suspend"}, true
}

func sourceNotReady(f Facts) (Decision, bool) {
	switch {
	case f.Source.Ready:
		return Decision{}, false
	case f.Source.Denied:
		return Decision{Verb: VerbFail, Reason: ReasonAccessDenied, Message: f.Source.Problem}, true
	}
	// Sources are watched; the interval only guards against a lost event.
	return Decision{Verb: VerbFail, Reason: ReasonArtifactFailed, Message: f.Source.Problem,
		NextCheck: f.Now.Add(f.Stack.RetryInterval)}, true
}

func inputsNotReady(f Facts) (Decision, bool) {
	if f.Inputs.Ready {
		return Decision{}, false
	}
	return Decision{Verb: VerbFail, Reason: orDefault(f.Inputs.Reason, ReasonVarsGeneration), Message: f.Inputs.Problem,
		NextCheck: f.Now.Add(f.Stack.RetryInterval)}, true
}

func stateUnusable(f Facts) (Decision, bool) {
	if f.StateProblem == "" {
		return Decision{}, false
	}
	return Decision{Verb: VerbFail, Reason: ReasonStateUnusable, Message: f.StateProblem,
		NextCheck: f.Now.Add(f.Stack.RetryInterval)}, true
}

func locked(f Facts) (Decision, bool) {
	if f.Lock == nil {
		return Decision{}, false
	}
	return Decision{Verb: VerbWait, Subject: f.Lock.ID, Reason: ReasonLockHeld,
		Message:   fmt.Sprintf("Terraform Locked with Lock Identifier: %s", f.Lock.ID),
		NextCheck: f.Now.Add(f.Stack.RetryInterval)}, true
}

// fits says whether the pending plan was made for exactly what is there now.
func fits(f Facts) bool {
	p := f.Pending
	return p != nil && p.Usable && p.Config == f.Config && p.Destroy == f.Stack.Destroy &&
		(f.Stack.OwnBackend || p.StateSerial == f.StateSerial)
}

func pendingApproved(f Facts) (Decision, bool) {
	if !fits(f) || f.Stack.PlanOnly || f.Stack.Mode == ModeDisabled || f.Pending.ID == f.Stack.Rejected {
		return Decision{}, false
	}
	if !approves(f.Stack, f.Pending.ID) {
		return Decision{}, false
	}
	return Decision{Verb: VerbApply, Subject: f.Pending.ID, Reason: ReasonApproved, Message: "Applying",
		Purpose: PurposeDeploy, Destroy: f.Pending.Destroy}, true
}

func approves(s Stack, id string) bool {
	return s.Mode == ModeAuto || s.Force || s.Approved == id
}

// appliesByItself says whether plans of this stack are applied without a person.
func appliesByItself(s Stack) bool {
	return !s.PlanOnly && s.Mode != ModeDisabled && (s.Mode == ModeAuto || s.Force)
}

// trigger is a reason to plan: a condition in words.
type trigger struct {
	reason string
	holds  func(Facts) (message string, ok bool)
}

// triggers are looked at in order; the first that holds is the run's reason.
var triggers = []trigger{
	{ReasonRequested, func(f Facts) (string, bool) {
		return "Reconciliation was requested", f.Stack.Requested != "" && f.Stack.Requested != f.Stack.Handled
	}},
	// A failure is retried after its interval, but a changed configuration does not wait for it.
	{ReasonInterrupted, func(f Facts) (string, bool) {
		return "The last run was interrupted; a fresh plan comes before anything else",
			f.Last != nil && f.Last.Interrupted && sameConfig(f) && retryDue(f)
	}},
	{ReasonRetry, func(f Facts) (string, bool) {
		return "The last run failed", f.Last != nil && f.Last.Failed && sameConfig(f) && !f.Last.Waits && retryDue(f)
	}},
	{ReasonFirstPlan, func(f Facts) (string, bool) {
		return "The stack has not been planned yet", f.Stack.PlannedConfig == "" && !lastFailedSameConfig(f)
	}},
	{ReasonConfigChanged, func(f Facts) (string, bool) {
		return "The configuration changed", f.Stack.PlannedConfig != "" && f.Stack.PlannedConfig != f.Config && !lastFailedSameConfig(f)
	}},
	// Somebody wrote the state since, or the plan's bytes are lost: what people would approve is not what would happen.
	{ReasonPlanStale, func(f Facts) (string, bool) {
		return "The state moved since the plan was made", f.Pending != nil && !fits(f) && !lastFailedSameConfig(f)
	}},
	{ReasonDriftDue, driftDue},
}

// sameConfig says whether the last run was about the configuration as it is now.
func sameConfig(f Facts) bool { return f.Last != nil && f.Last.Config == f.Config }

func lastFailedSameConfig(f Facts) bool {
	return f.Last != nil && (f.Last.Failed || f.Last.Interrupted) && sameConfig(f)
}

func retryDue(f Facts) bool { return !f.Now.Before(f.Last.Finished.Add(f.Stack.RetryInterval)) }

func driftDue(f Facts) (string, bool) {
	if !watchesDrift(f) || lastFailedSameConfig(f) {
		return "", false
	}
	return "Comparing the stack with the world", !f.Now.Before(f.LastDriftCheck.Add(f.Stack.Interval))
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
			Destroy: f.Stack.Destroy, Describe: true}
		if t.reason == ReasonDriftDue {
			d.Purpose = PurposeDrift
		}
		if appliesByItself(f.Stack) {
			d.Verb, d.Describe = VerbPlanAndApply, false
		}
		return d, true
	}
	return Decision{}, false
}

func pendingWaits(f Facts) (Decision, bool) {
	if f.Pending == nil {
		return Decision{}, false
	}
	d := Decision{Verb: VerbAwaitApproval, Subject: f.Pending.ID, Reason: ReasonAwaitingApproval, NextCheck: nextLook(f)}
	switch {
	case f.Stack.Rejected == f.Pending.ID:
		d.Reason, d.Message = ReasonRejected, fmt.Sprintf("Plan %s was rejected; a change or `yuba replan` makes a new one", f.Pending.ID)
	case f.Stack.PlanOnly:
		d.Message = "Plan generated: This object is in the plan only mode."
	default:
		d.Message = fmt.Sprintf("Plan generated: set approvePlan: %q to approve this plan.", f.Pending.ID)
		if a := f.Stack.Approved; a != "" && a != f.Stack.LastAppliedPlan {
			d.Message += fmt.Sprintf(" (approvePlan names %q, which is not pending.)", a)
		}
	}
	return d, true
}

func rest(f Facts) (Decision, bool) {
	d := Decision{Verb: VerbRest, Reason: ReasonUpToDate, NextCheck: nextLook(f)}
	if lastFailedSameConfig(f) {
		d.Verb, d.Reason = VerbWait, ReasonRetryPending
		if f.Last.Waits {
			d.Message = "Trying again is pointless until something changes"
		} else {
			d.Message = fmt.Sprintf("Trying again at %s", f.Last.Finished.Add(f.Stack.RetryInterval).UTC().Format(time.TimeOnly))
		}
	}
	return d, true
}

// nextLook is when time alone will change the decision; zero when it never does.
func nextLook(f Facts) time.Time {
	if lastFailedSameConfig(f) {
		if f.Last.Waits && !f.Last.Interrupted {
			return time.Time{}
		}
		return f.Last.Finished.Add(f.Stack.RetryInterval)
	}
	if watchesDrift(f) {
		return f.LastDriftCheck.Add(f.Stack.Interval)
	}
	return time.Time{}
}

func orDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
