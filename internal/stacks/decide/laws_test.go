// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestLaws checks each law on random facts. A law returns what is wrong with a decision.
func TestLaws(t *testing.T) {
	for sentence, law := range map[string]func(f Facts, d Decision) string{
		"nothing is applied without approval":                                   approvalLaw,
		"a plan is applied only to the configuration and state it was made for": fitLaw,
		"nothing runs while suspended, running or locked":                       standstillLaw,
		"nothing runs without a configuration, or on a state with a problem":    usableLaw,
		"plan-only and disabled stacks never apply":                             lookOnlyLaw,
		"an apply that did not succeed is followed by a fresh plan":             freshPlanLaw,
		"a rejected plan is not applied":                                        rejectionLaw,
		"only a deletion uses kept inputs, and only existing ones":              keptLaw,
		"the finalizer is removed only when nothing is left to do":              releaseLaw,
		"only a plan is canceled, and only once":                                cancelLaw,
		"a run destroys exactly when its configuration says so":                 destroyLaw,
		"a canceled run is not started again automatically":                     stoppedLaw,
		"a wait for time has a next check":                                      untilWhenLaw,
		"the next check is in the future":                                       futureLaw,
		"the decision does not change before the next check":                    patienceLaw,
		"a waiting stack acts at the next check":                                punctualityLaw,
		"a stack that reads external data is planned on the interval":           readingLaw,
		"drift detection continues":                                             driftLaw,
		"every decision has a reason":                                           reasonLaw,
		"nothing runs before its dependencies, nor in a dependency cycle":       dependencyLaw,
		"a stack that others depend on is not removed":                          dependantLaw,
		"nothing runs while a person works manually":                            heldLaw,
		"only named locks that are not in use are force-unlocked":               unlockLaw,
		"a stack without attempts left waits for a change":                      attemptsLaw,
		"only failed attempts are counted, up to the limit":                     refusalLaw,
		"while a circuit is open only approved plans are applied":               circuitLaw,
		"a stack that failed in an outage rests until it is over":               outageLaw,
		"drift found right after an outage is not repaired without approval":    recoveryLaw,
		"a held plan stays held":                                                holdLaw,
		"the state of a deleted stack is changed only with approval":            takeoverLaw,
		"modules are resolved only when there is no other reason to plan":       modulesLaw,
		"suspension blocks every deletion":                                      suspensionLaw,
		"nothing runs on a stack of another home":                               movedLaw,
		"nothing is applied against the policies":                               policyLaw,
		"policies are asked only when their answer counts":                      judgeLaw,
		"nothing is applied against contracts":                                  contractLaw,
		"nothing is planned against the policies":                               prePlanLaw,
	} {
		t.Run(sentence, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				f := drawFacts(t)
				if rarely(t, "moved") {
					f.Stack.Moved = &Moved{Message: "Moved to prod", Away: rapid.Bool().Draw(t, "away")}
				}
				d := Decide(f)
				if wrong := law(f, d); wrong != "" {
					t.Fatalf("%s: %s", d, wrong)
				}
			})
		})
	}
}

func TestDecideNeverChangesItsInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		before := clone(f)
		first := Decide(f)
		if diff := cmp.Diff(before, f); diff != "" {
			t.Fatalf("facts after deciding (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(first, Decide(f)); diff != "" {
			t.Fatalf("the same facts again (-first +second):\n%s", diff)
		}
	})
}

func approvalLaw(f Facts, d Decision) string {
	declared := f.Stack.Deleting && f.Stack.DestroyOnDeletion && d.Purpose == PurposeDelete && d.Destroy
	freed := f.Stack.Mode == ModePolicy && f.Pending != nil && f.Pending.Verdict != nil && f.Pending.Verdict.Opinion == OpinionFreed
	byItself := f.Stack.Mode == ModeAuto || f.Stack.Force || freed && d.Verb == VerbApply
	switch {
	case d.Verb == VerbApply && (f.Pending == nil || d.Subject != f.Pending.ID):
		return "applies a plan that is not pending"
	case d.Verb == VerbApply && declared && (!f.Policy.Bound || !f.Pending.Deletion || f.Pending.Verdict == nil):
		return "destroys by a plan that no policy has judged"
	case d.Verb == VerbApply && declared:
		// What policies say is another law.
	case d.Verb == VerbApply && !byItself && d.Subject != f.Stack.Approved && d.Subject != f.Stack.Allowed:
		return "applies a plan that nobody approved"
	case d.Verb == VerbApply && !byItself && d.Subject == f.Stack.LastAppliedPlan:
		return "applies with a used approval"
	case d.Verb == VerbPlanAndApply && !byItself && !declared:
		return "plans and applies without approval"
	case f.Stack.Deleting && d.Verb.StartsRun() && !declared:
		return "runs something other than the declared destroy for a deleted object"
	}
	return ""
}

func fitLaw(f Facts, d Decision) string {
	if d.Verb != VerbApply {
		return ""
	}
	p := f.Pending
	switch {
	case !p.Usable:
		return "applies a plan whose file is lost"
	case p.Config != f.Config:
		return "applies a plan of another configuration"
	case !f.Stack.OwnBackend && p.StateSerial != f.StateSerial:
		return "applies a plan of another state"
	case p.Destroy != f.Stack.Destroy && !p.Deletion:
		return "differs from the stack on whether to destroy"
	}
	return ""
}

func standstillLaw(f Facts, d Decision) string {
	if d.Verb.StartsRun() && (f.Stack.Suspended || f.Current != nil || f.Lock != nil) {
		return "starts a run"
	}
	return ""
}

// suspensionLaw: only a stack that is destroyed already may be deleted.
func suspensionLaw(f Facts, d Decision) string {
	if f.Stack.Suspended && d.Verb == VerbRelease && !destroyed(f) && f.Stack.Moved == nil {
		return "removes the object"
	}
	return ""
}

func usableLaw(f Facts, d Decision) string {
	planned := d.Verb == VerbApply && f.Pending.Deletion // with the inputs of its plan
	if d.Verb.StartsRun() && (f.Config == "" && !d.UseKept && !planned || f.StateProblem != "") {
		return "starts a run"
	}
	return ""
}

func lookOnlyLaw(f Facts, d Decision) string {
	applies := d.Verb == VerbApply || d.Verb == VerbPlanAndApply
	if applies && (f.Stack.PlanOnly || f.Stack.Mode == ModeDisabled) && d.Purpose != PurposeDelete {
		return "applies"
	}
	return ""
}

func freshPlanLaw(f Facts, d Decision) string {
	if d.Verb == VerbApply && f.Last != nil && f.Last.Apply && (f.Last.Failed || f.Last.Interrupted) {
		return "applies the old plan"
	}
	return ""
}

func rejectionLaw(f Facts, d Decision) string {
	rejected := f.Pending != nil && f.Pending.ID == f.Stack.Rejected
	if rejected && (!f.Stack.Deleting || d.Verb == VerbApply) && (d.Verb == VerbApply || d.Verb == VerbPlanAndApply) {
		return "applies"
	}
	return ""
}

func keptLaw(f Facts, d Decision) string {
	if d.UseKept && !(f.Kept && f.Stack.Deleting && (d.Verb == VerbPlanAndApply || d.Verb == VerbPlan)) {
		return "uses kept inputs"
	}
	return ""
}

func releaseLaw(f Facts, d Decision) string {
	l := f.Last
	done := l != nil && l.Purpose == PurposeDelete && !l.Failed && !l.Interrupted && !l.Canceled && !l.OnlyPlanned
	nothing := !f.Stack.AppliedOnce && (f.Stack.OwnBackend && f.Config == "" && !f.Kept || !f.Stack.OwnBackend && !f.StateExists)
	switch {
	case d.Verb != VerbRelease:
		return ""
	case !f.Stack.Deleting:
		return "the object is not deleted"
	case f.Current != nil:
		return "a run is in progress"
	case f.Stack.DestroyOnDeletion && !done && !nothing && f.Stack.Moved == nil:
		return "resources were to be destroyed"
	}
	return ""
}

func cancelLaw(f Facts, d Decision) string {
	if d.Verb == VerbCancel && (d.Subject != f.Current.ID || f.Current.Apply || f.Current.Canceled) {
		return "cancels"
	}
	return ""
}

// stoppedLaw: a canceled run does not begin again automatically.
func stoppedLaw(f Facts, d Decision) string {
	s, l := f.Stack, f.Last
	again := d.Verb == VerbPlan || d.Verb == VerbPlanAndApply
	asked := s.Requested != "" && s.Requested != s.Handled
	if !again || asked || l == nil || !l.Stopped || l.Config != f.Config {
		return ""
	}
	moved := l.Generation != 0 && l.Generation != s.Generation || l.Revision != "" && l.Revision != f.Source.Revision
	if moved || s.Deleting && l.Purpose != PurposeDelete {
		return ""
	}
	return "begins again"
}

func destroyLaw(f Facts, d Decision) string {
	if d.Verb.StartsRun() && d.Destroy != (f.Stack.Destroy || f.Stack.Deleting) {
		return "differs from the stack on whether to destroy"
	}
	return ""
}

// untilWhenLaw: the only waits without a time are for a person or a change.
func untilWhenLaw(f Facts, d Decision) string {
	forPerson := d.Reason == ReasonSuspended || d.Reason == ReasonMoved
	forPerson = forPerson || d.Reason == ReasonBreakTheGlass || d.Reason == ReasonStateTakenOver
	forChange := d.Reason == ReasonRetryPending && (f.Last.Waits && !f.Last.Interrupted || f.Last.Stopped) || d.Reason == ReasonRetryLimit ||
		d.Reason == ReasonCircuitOpen && f.Circuit.Open
	if d.Verb == VerbWait && d.NextCheck.IsZero() && !forPerson && !forChange {
		return "does not say until when"
	}
	lasting := d.Reason == ReasonAccessDenied || d.Reason == ReasonPolicyRefused || d.Reason == ReasonDependencyCycle || d.Reason == ReasonArtifactFailed && f.Source.Lasting && !f.Stack.Deleting ||
		f.Inputs.Lasting && d.Message == f.Inputs.Problem
	if d.Verb == VerbFail && d.NextCheck.IsZero() && !lasting && !d.Spent {
		return "fails without a next check"
	}
	return ""
}

func futureLaw(f Facts, d Decision) string {
	if !d.NextCheck.IsZero() && !d.NextCheck.After(f.Now) {
		return "the next check is not in the future"
	}
	if d.Verb.StartsRun() && !d.NextCheck.IsZero() {
		return "a run ends with an event and needs no next check"
	}
	return ""
}

// patienceLaw: the decision stays the same until the next check.
func patienceLaw(f Facts, d Decision) string {
	if d.Verb.StartsRun() || d.Verb == VerbJudge { // it is done at once, and followed by the next decision
		return ""
	}
	later := []time.Time{f.Now.Add(1), f.Now.Add(time.Second), f.Now.Add(time.Hour), f.Now.Add(1000 * time.Hour)}
	if !d.NextCheck.IsZero() {
		later = append(later, d.NextCheck.Add(-1))
	}
	for _, now := range later {
		if !d.NextCheck.IsZero() && !now.Before(d.NextCheck) {
			continue
		}
		g := f
		g.Now = now
		if then := Decide(g); then.Verb != d.Verb || then.Reason != d.Reason {
			return "before the next check, at " + now.String() + ", it is " + then.String()
		}
	}
	return ""
}

// punctualityLaw: a wait for the stack's own interval ends with it.
// What is not known yet is looked at again at the next check, and the answer is not among these facts.
func punctualityLaw(f Facts, d Decision) string {
	own := d.Verb == VerbRest || d.Verb == VerbAwaitApproval && f.Policy.Problem == "" && f.Contracts.Problem == "" || d.Reason == ReasonRetryPending
	if !own || d.NextCheck.IsZero() {
		return ""
	}
	f.Now = d.NextCheck
	if then := Decide(f); !then.Verb.StartsRun() && then.Verb != VerbJudge && then.Reason != ReasonDependencyNotReady &&
		then.Reason != ReasonPolicyRefused && then.Reason != ReasonPolicyUnknown {
		return "at its next check it is " + then.String()
	}
	return ""
}

func driftLaw(f Facts, d Decision) string {
	wanted := f.Stack.DetectDrift && f.Stack.Interval > 0 && !f.Stack.Destroy && !f.Stack.Suspended
	atRest := d.Verb == VerbRest || d.Verb == VerbAwaitApproval && !lastFailedSameConfig(f)
	if wanted && atRest && d.NextCheck.IsZero() {
		return "drift detection ends"
	}
	return ""
}

func dependencyLaw(f Facts, d Decision) string {
	if f.Stack.Deleting || !d.Verb.StartsRun() {
		return ""
	}
	if f.Cycle != "" {
		return "runs in a dependency cycle"
	}
	for _, dep := range f.Dependencies {
		fit := !dep.SameSource || slices.Contains(dep.Revisions, f.Source.Revision)
		if dep.Denied || dep.Missing || dep.Deleting || !dep.Observed || !dep.Ready || !fit || dep.OutputsMissing != "" {
			return "runs before its dependency"
		}
	}
	return ""
}

func dependantLaw(f Facts, d Decision) string {
	if f.Stack.Deleting && len(f.Dependants) > 0 && f.Stack.Moved == nil && (d.Verb == VerbRelease || d.Verb.StartsRun()) {
		return "others depend on it"
	}
	return ""
}

func heldLaw(f Facts, d Decision) string {
	if f.Stack.Held && (d.Verb.StartsRun() || d.Verb == VerbUnlock) {
		return "interferes with manual work"
	}
	return ""
}

func unlockLaw(f Facts, d Decision) string {
	if d.Verb != VerbUnlock {
		return ""
	}
	l := f.Lock
	switch {
	case l == nil || d.Subject != l.ID:
		return "force-unlocks a lock that does not exist"
	case l.Alive:
		return "force-unlocks the lock of a run in progress"
	case !l.Over && !f.Stack.BreakAnyLock && f.Stack.BreakLock != l.ID:
		return "force-unlocks a lock that the stack does not name"
	case f.Stack.Suspended:
		return "force-unlocks for a suspended stack"
	}
	return ""
}

func attemptsLaw(f Facts, d Decision) string {
	l := f.Last
	spent := l != nil && unsuccessful(l) && l.Config == f.Config && f.Refused.At.IsZero() && f.Stack.MaxFailures > 0 && l.Failures >= f.Stack.MaxFailures
	changed := l != nil && (l.Generation != 0 && l.Generation != f.Stack.Generation || l.Revision != f.Source.Revision)
	plans := d.Verb == VerbPlan || d.Verb == VerbPlanAndApply
	outage := d.Reason == ReasonCircuitProbe || d.Reason == ReasonCircuitClosed
	if spent && !changed && plans && !f.Stack.Deleting && !requested(f) && !outage {
		return "retries"
	}
	return ""
}

func refusalLaw(f Facts, d Decision) string {
	most := f.Stack.MaxFailures
	switch {
	case d.Failures == 0 && !d.Spent:
		return ""
	case d.Verb != VerbFail || f.Source.Revision == "" || f.Stack.Deleting:
		return "counts what is not an attempt"
	case d.Spent != d.NextCheck.IsZero():
		return "gives up, but has a next check"
	case d.Spent && (most == 0 || d.Failures != 0 && d.Failures < most):
		return "gives up early"
	case most > 0 && d.Failures > most:
		return "continues after the last attempt"
	case d.Failures > 1 && d.Failures != f.Refused.Failures+1:
		return "counts wrong"
	}
	return ""
}

func modulesLaw(f Facts, d Decision) string {
	if d.Reason != ReasonModulesMayMove {
		return ""
	}
	f.Config, f.OnlyModules = f.Stack.PlannedConfig, false
	if then := Decide(f); then.Verb != VerbRest && then.Reason != ReasonRetry {
		return "if the modules had not moved, it would be " + then.String()
	}
	return ""
}

func reasonLaw(f Facts, d Decision) string {
	purposes := []string{PurposeDeploy, PurposeDrift, PurposeDelete}
	switch {
	case d.Reason == "" || d.Reason == "NoRule":
		return "no reason"
	case d.Message == "" && d.Verb != VerbRest:
		return "no message"
	case d.Verb.StartsRun() != slices.Contains(purposes, d.Purpose):
		return "only runs have a purpose, and each run has one"
	}
	return ""
}
