// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
)

// rule handles one situation; it returns false if the situation does not apply.
type rule struct {
	name   string
	decide func(Facts) (Decision, bool)
}

// liveRules are evaluated in order for a stack that is not being deleted; the first match wins.
var liveRules = []rule{
	// A run in progress comes before suspension: a suspended stack's run is still watched.
	{"a run is in progress", runInHand},
	// Suspension stops everything that has not begun.
	{"suspended", suspended},
	// So does manual work.
	{"held for manual work", held},
	// Another home works on a moved stack, even if somebody resumes it here.
	{"moved to another home", moved},
	// Report errors that only a spec change can fix first.
	{"it depends on itself", dependencyCycle},
	{"a dependency may not be used", dependencyDenied},
	// Without a source there is nothing to plan. Nor may a plan of an older one be applied: in many
	// repositories the same commit contains approval and code.
	{"source is not ready", sourceNotReady},
	// A dependency may be about to write missing inputs.
	{"a dependency may bring the inputs", dependencyBeforeInputs},
	// Report wrong or missing inputs before a process starts.
	{"inputs are not ready", inputsNotReady},
	// Never overwrite a state that cannot be read.
	{"state cannot be used", stateUnusable},
	// Another lock holder's apply may change the state that we would plan on.
	{"somebody else holds the lock", locked},
	// Do not let each of many failing stacks retry.
	{"many stacks fail alike", circuitRests},
	// A stack with something to do waits for its dependencies; an idle one ignores their problems.
	{"a dependency is not ready", dependencyBeforeRun},
	// Nothing is applied that a policy has not seen.
	{"contracts or policies have not judged the pending plan", judgePending},
	// Apply an approved plan that is still valid.
	{"pending plan is approved", pendingApproved},
	// Nothing of a configuration is executed that a policy refuses.
	{"policies refuse the configuration", policyRefusesRun},
	// Reasons to plan, see triggers.
	{"there is a reason to plan", reasonToPlan},
	// Otherwise a pending plan waits for approval.
	{"pending plan waits", pendingWaits},
	{"all is as it should be", rest},
}

// deletionRules are evaluated in order for a stack that is being deleted.
var deletionRules = []rule{
	{"a run is in progress", deletionAwaitsRun},
	// The copy that a move left behind may go; its resources are another home's.
	{"moved to another home", deletionOfMoved},
	// Suspension blocks every deletion unless everything is already destroyed.
	{"suspended", deletionSuspended},
	// Other stacks use its outputs and resources.
	{"others depend on it", deletionBlocked},
	// Nothing to destroy: deletion needs no source, lock or person.
	{"resources are kept", deletionKeepsResources},
	{"nothing was ever applied", deletionOfNothing},
	{"destroy is done", deletionDone},
	{"held for manual work", held},
	{"the state is a deleted stack's", deletionOfTakeover},
	{"state cannot be used", stateUnusable},
	{"somebody else holds the lock", locked},
	// Before the backoff rule, because there will be no other attempt.
	{"neither source nor kept inputs", deletionImpossible},
	{"the last attempt failed", deletionBackoff},
	// The plan of a destruction executes the configuration, too.
	{"policies refuse the configuration", policyRefusesRun},
	// Nothing is destroyed that a policy has not seen.
	{"policies have not judged the plan of the destruction", deletionIsJudged},
	{"the plan of the destruction may be applied", deletionMayDestroy},
	{"the plan of the destruction waits", deletionWaits},
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
	if c.Misplaced && !c.Canceled {
		return leavePlace(c), true
	}
	// Only a plan can be given up; always wait for an apply.
	if !c.Apply && !c.Canceled {
		if d, ok := givesUp(f); ok {
			return d, true
		}
	}
	return Decision{Verb: VerbAwaitRun, Subject: c.ID, Reason: ReasonProgressing, Message: progress(c)}, true
}

// leavePlace gives up a run that waits for the wrong Pod. The next one waits for the right one.
func leavePlace(c *Run) Decision {
	return Decision{Verb: VerbCancel, Subject: c.ID, Reason: ReasonSuperseded, Message: "The settings of the runner Pod changed before the run began"}
}

// givesUp says why the running plan is no longer wanted.
func givesUp(f Facts) (Decision, bool) {
	d := Decision{Verb: VerbCancel, Subject: f.Current.ID}
	switch {
	case f.Stack.Suspended:
		d.Reason, d.Message = ReasonSuspended, "The stack was suspended while it was being planned"
	case f.Stack.Held:
		d.Reason, d.Message = ReasonBreakTheGlass, "The stack was held for manual work while it was being planned"
	case f.Config != "" && (f.Current.Config != f.Config || f.Current.Destroy != f.Stack.Destroy):
		d.Reason, d.Message = ReasonSuperseded, "The configuration changed while it was being planned"
	default:
		return Decision{}, false
	}
	return d, true
}

func progress(c *Run) string {
	switch {
	case c.Canceled && !c.Apply:
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

func held(f Facts) (Decision, bool) {
	if !f.Stack.Held {
		return Decision{}, false
	}
	return Decision{Verb: VerbWait, Reason: ReasonBreakTheGlass, Message: fmt.Sprintf(
		"Held for manual work (breakTheGlass): no runs start. Open a shell with `yuba shell %s`", f.Stack.Call)}, true
}

func sourceNotReady(f Facts) (Decision, bool) {
	switch {
	case f.Source.Ready:
		return Decision{}, false
	case f.Source.Denied:
		return Decision{Verb: VerbFail, Reason: ReasonAccessDenied, Message: f.Source.Problem}, true
	case f.Source.Lasting:
		return refuse(f, Decision{Verb: VerbFail, Reason: ReasonArtifactFailed, Message: f.Source.Problem}), true
	}
	// A missing archive or kind may appear without an event.
	return refuse(f, Decision{Verb: VerbFail, Reason: ReasonArtifactFailed, Message: f.Source.Problem,
		NextCheck: lookAgain(f)}), true
}

func inputsNotReady(f Facts) (Decision, bool) {
	if f.Inputs.Ready {
		return Decision{}, false
	}
	if f.Inputs.Waits {
		return Decision{Verb: VerbWait, Subject: f.Inputs.WaitsFor, Reason: ReasonWaiting, Message: f.Inputs.Problem, NextCheck: f.Inputs.WaitsUntil}, true
	}
	d := Decision{Verb: VerbFail, Reason: orDefault(f.Inputs.Reason, ReasonVarsGeneration), Message: f.Inputs.Problem}
	if !f.Inputs.Lasting {
		d.NextCheck = lookAgain(f)
	}
	return refuse(f, d), true
}

func stateUnusable(f Facts) (Decision, bool) {
	if f.StateProblem == "" {
		return Decision{}, false
	}
	return Decision{Verb: VerbFail, Reason: orDefault(f.StateReason, ReasonStateUnreadable), Message: f.StateProblem,
		NextCheck: lookAgain(f)}, true
}

// locked ignores the lock of a run that has ended and breaks one that the stack names, but never
// the lock of a run in progress.
func locked(f Facts) (Decision, bool) {
	l := f.Lock
	switch {
	case l == nil:
		return Decision{}, false
	case l.Over && !l.Alive:
		return Decision{Verb: VerbUnlock, Subject: l.ID, Reason: ReasonLockOrphaned,
			Message: fmt.Sprintf("Releasing the lock of run %s, which has ended", l.ID)}, true
	case !l.Alive && mayBreak(f.Stack, l.ID):
		return Decision{Verb: VerbUnlock, Subject: l.ID, Reason: ReasonForceUnlock,
			Message: fmt.Sprintf("Terraform Force Unlock with Lock Identifier: %s", l.ID)}, true
	}
	return Decision{Verb: VerbWait, Subject: f.Lock.ID, Reason: ReasonLockHeld,
		Message:   fmt.Sprintf("Terraform Locked with Lock Identifier: %s", f.Lock.ID),
		NextCheck: lookAgain(f)}, true
}

func mayBreak(s Stack, lock string) bool {
	return lock != "" && (s.BreakAnyLock || s.BreakLock == lock)
}

// staleBecause says why the pending plan can no longer be applied; empty if it is not stale.
func staleBecause(f Facts) string {
	p := f.Pending
	switch {
	case !p.Usable:
		return "The saved plan can no longer be used"
	case f.Contracts.Moved != "":
		return f.Contracts.Moved
	case p.Config != f.Config:
		return "The configuration has changed since the plan was made"
	case p.Destroy != f.Stack.Destroy:
		return "The plan was made for another value of spec.destroy"
	case !f.Stack.OwnBackend && p.StateSerial != f.StateSerial:
		return "The state has changed since the plan was made"
	case p.Verdict != nil && p.Verdict.NeedsPlan && p.Verdict.Set == f.Policy.Set:
		return "The plan was made before policies bound the stack, without the details that they need"
	case p.Contracts != nil && p.Contracts.NeedsPlan:
		return "The plan was made before the stack published contracts, without the details that they need"
	case outlived(f):
		return fmt.Sprintf("The plan was made during the outage of circuit breaker %s, which is over", p.HeldBy)
	case f.Last != nil && f.Last.Apply && (f.Last.Failed || f.Last.Interrupted):
		// The failed apply may have changed anything before it ended.
		return "An apply has failed since the plan was made"
	}
	return ""
}

func fits(f Facts) bool { return f.Pending != nil && staleBecause(f) == "" }

// pendingRejected: a rejected plan is never applied, not even by mode auto or force.
func pendingRejected(f Facts) bool {
	return f.Pending != nil && f.Stack.Rejected != "" && f.Pending.ID == f.Stack.Rejected
}

func pendingApproved(f Facts) (Decision, bool) {
	if !fits(f) || f.Stack.PlanOnly || f.Stack.Mode == ModeDisabled || pendingRejected(f) {
		return Decision{}, false
	}
	if !named(f) && !unasked(f) || objects(f, named(f)) {
		return Decision{}, false
	}
	return Decision{Verb: VerbApply, Subject: f.Pending.ID, Reason: ReasonApproved, Message: "Applying",
		Purpose: PurposeDeploy, Destroy: f.Pending.Destroy}, true
}

// named: a person approved exactly the pending plan. Applying a plan uses up its approval, so a
// later plan with the same id is not approved.
func named(f Facts) bool {
	s, id := f.Stack, f.Pending.ID
	return id != "" && id != s.LastAppliedPlan && (s.Approved == id || s.Allowed == id)
}

// unasked reports whether the pending plan needs no approval.
func unasked(f Facts) bool {
	return (f.Stack.Mode == ModeAuto || f.Stack.Mode == ModePolicy || f.Stack.Force) && f.Takeover == nil && !circuitOpen(f) && f.Pending.HeldBy == "" && !(f.Pending.Drift && recovering(f))
}

// appliesByItself reports whether the stack's plans are applied automatically.
func appliesByItself(s Stack) bool {
	return !s.PlanOnly && s.Mode != ModeDisabled && (s.Mode == ModeAuto || s.Mode == ModePolicy || s.Force)
}

// pendingWaits reports the pending plan unless it is stale; then rest reports the next step.
func pendingWaits(f Facts) (Decision, bool) {
	if !fits(f) {
		return Decision{}, false
	}
	d := Decision{Verb: VerbAwaitApproval, Subject: f.Pending.ID, Reason: ReasonAwaitingApproval, NextCheck: earlier(earlier(nextLook(f), verdictEnds(f)), contractsKnown(f))}
	reason, message := policyMessage(f)
	if f.Policy.Problem == "" && reason != ReasonPolicyRefused {
		if broken, says := contractMessage(f); says != "" {
			reason, message = broken, says
		}
	}
	switch {
	case pendingRejected(f):
		d.NextCheck = nextLook(f) // whatever contracts and policies say
		d.Reason, d.Message = ReasonRejected, fmt.Sprintf("Plan %s was rejected; change the stack or run `yuba replan` for a new plan", f.Pending.ID)
	case f.Stack.PlanOnly:
		d.Message = "Plan generated: This object is in the plan only mode."
	case f.Stack.Mode == ModeDisabled:
		d.Message = `Plan generated: nothing is applied while approvePlan is "disable".`
	case f.Pending.HeldBy != "":
		d.Message = HeldMessage(f.Pending.ID, f.Pending.HeldBy, f.Stack.Call)
	case message != "":
		d.Reason, d.Message = reason, message
	case f.Takeover != nil && appliesByItself(f.Stack):
		d.Message = takeoverMessage(f)
	case !unasked(f) && appliesByItself(f.Stack):
		d.Message = HeldMessage(f.Pending.ID, f.Circuit.Name, f.Stack.Call)
	default:
		d.Message = fmt.Sprintf("Plan generated: set approvePlan: %q to approve this plan.", f.Pending.ID)
		if a := f.Stack.Approved; a != "" && a != f.Stack.LastAppliedPlan {
			d.Message += fmt.Sprintf(" (approvePlan names %q, which is not pending.)", a)
		}
	}
	if f.Takeover != nil && d.Reason == ReasonAwaitingApproval && !appliesByItself(f.Stack) {
		d.Message += fmt.Sprintf(" The stack took over %s.", f.Takeover)
	}
	if f.Stack.PullRequest != "" && d.Reason == ReasonAwaitingApproval {
		d.Message += " The stack " + f.Stack.PullRequest + "."
	}
	if f.Stack.ApplyFailed && d.Reason == ReasonAwaitingApproval {
		d.Message += " The last apply failed."
	}
	return d, true
}

func rest(f Facts) (Decision, bool) {
	d := Decision{Verb: VerbRest, Reason: ReasonUpToDate, NextCheck: nextLook(f)}
	if lastFailedSameConfig(f) {
		d.Verb, d.Reason = VerbWait, ReasonRetryPending
		d.Message = "Configuration error; retrying after the next change to source or spec"
		switch {
		case f.Last.Stopped:
			d.Message = StoppedMessage
		case usedUp(f):
			d.Reason, d.Message = ReasonRetryLimit, "Resource reached maximum number of retries."
		case refusalEnds(f) && !retries(f):
			d.Message = "Policies refused the configuration; retrying at " + f.Last.RefusedUntil.UTC().Format("2006-01-02 15:04:05 MST")
		case f.Last.RefusedBy != "" && !retries(f):
			d.Message = "Policies refused the configuration; retrying after a change to source, spec or policies"
		case retries(f):
			d.Message = "Retrying at " + retryAt(f).UTC().Format("15:04:05 MST")
		}
	}
	return d, true
}

// StoppedMessage says what to do after a person has canceled a run.
const StoppedMessage = "The last run was canceled; change the stack or run `yuba replan` to start another"

func orDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
