// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"
)

// Policy says which policies judge the plans of a stack.
type Policy struct {
	// Served: there may be policies, now or later.
	Served bool
	// Bound: a plan is judged before it is applied. False if no policy selects the stack, and the
	// stack does not ask for one.
	Bound bool
	// Set identifies the policies and their contents.
	Set string
	// Problem says why the policies are not known. Until they are, nothing is applied.
	Problem string
	// Refused says why policies refuse that the configuration is planned; empty if they do not.
	// RefusedUntil is when they may say something else, although nothing changed; zero for never.
	Refused      string
	RefusedUntil time.Time
	// InRun: the run asks once more after init, when it has the modules from elsewhere.
	InRun bool
}

// policyRefusesRun keeps a run from beginning that policies refuse before its plan, and any while
// nobody knows what they refuse.
func policyRefusesRun(f Facts) (Decision, bool) {
	if f.Policy.Refused == "" && f.Policy.Problem == "" {
		return Decision{}, false
	}
	if _, ok := reasonToPlan(f); !ok && !f.Stack.Deleting {
		return Decision{}, false
	}
	if f.Policy.Refused == "" {
		return Decision{Verb: VerbWait, Reason: ReasonPolicyUnknown, Message: "No run starts while the policies are not known: " + f.Policy.Problem, NextCheck: lookAgain(f)}, true
	}
	what := "Nothing of it was executed"
	if f.Stack.Deleting {
		what = "Nothing was destroyed"
	}
	return Decision{Verb: VerbFail, Reason: ReasonPolicyRefused, Message: fmt.Sprintf("Refused before planning: %s. %s", f.Policy.Refused, what), NextCheck: earlier(pendingVerdictEnds(f), f.Policy.RefusedUntil)}, true
}

// Opinion is what policies say about a plan.
type Opinion string

const (
	// OpinionFreed: a policy frees the plan from review, and none objects.
	OpinionFreed Opinion = "freed"
	// OpinionPassed: no policy objects.
	OpinionPassed Opinion = "passed"
	// OpinionApproved: the people that policies ask for have approved the plan.
	OpinionApproved Opinion = "approved"
	// OpinionHeld: a person must approve the plan.
	OpinionHeld Opinion = "held"
	// OpinionRefused: nobody may apply the plan.
	OpinionRefused Opinion = "refused"
)

// Verdict is the opinion of one set of policies about the pending plan.
type Verdict struct {
	Opinion Opinion
	Message string
	// Set is the Policy.Set that was asked.
	Set string
	// Until is when the plan must be judged again; zero for never.
	Until time.Time
	// NeedsPlan: the plan was made without what policies need.
	NeedsPlan bool
	// Recorded: a held plan waits for approvals that the API has recorded. Naming the plan in the
	// object is not one.
	Recorded bool
}

// judged returns the verdict about the pending plan that counts now; nil without one.
func judged(f Facts) *Verdict {
	v := f.Pending.Verdict
	if v == nil || f.Policy.Problem != "" || v.Set != f.Policy.Set || !v.Until.IsZero() && !f.Now.Before(v.Until) {
		return nil
	}
	return v
}

// judgePending asks the policies about a plan that they have not judged.
func judgePending(f Facts) (Decision, bool) {
	if f.Pending == nil || !fits(f) || pendingRejected(f) {
		return Decision{}, false
	}
	if contractsAsk(f) {
		return Decision{Verb: VerbJudge, Subject: f.Pending.ID, Reason: ReasonJudging, Message: fmt.Sprintf("Checking plan %s against contracts", f.Pending.ID)}, true
	}
	if !f.Policy.Bound || f.Policy.Problem != "" || judged(f) != nil {
		return Decision{}, false
	}
	return Decision{Verb: VerbJudge, Subject: f.Pending.ID, Reason: ReasonJudging, Message: fmt.Sprintf("Asking the policies about plan %s", f.Pending.ID)}, true
}

// objects reports whether policies do not let the pending plan be applied; approved: a person
// approved it.
func objects(f Facts, approved bool) bool {
	if contractsObject(f, approved) {
		return true
	}
	if f.Policy.Problem != "" {
		return true
	}
	if !f.Policy.Bound {
		return f.Stack.Mode == ModePolicy && !f.Stack.Force && !approved
	}
	v := judged(f)
	if v == nil {
		return true
	}
	switch v.Opinion {
	case OpinionFreed, OpinionApproved:
		return false
	case OpinionPassed:
		return f.Stack.Mode == ModePolicy && !f.Stack.Force && !approved
	case OpinionHeld:
		return !approved || v.Recorded
	}
	return true
}

// policyMessage says why a plan waits because of policies; empty if it does not.
func policyMessage(f Facts) (reason, message string) {
	if f.Policy.Problem != "" {
		return ReasonPolicyUnknown, fmt.Sprintf("Plan %s waits: its policies are not known: %s", f.Pending.ID, f.Policy.Problem)
	}
	if !f.Policy.Bound {
		if f.Stack.Mode == ModePolicy && !f.Stack.Force {
			return ReasonAwaitingApproval, fmt.Sprintf("Plan %s waits for approval: no policy selects the stack. Review it, then: yuba approve %s", f.Pending.ID, f.Stack.Call)
		}
		return "", ""
	}
	v := judged(f)
	switch {
	case v == nil:
		return "", ""
	case v.Opinion == OpinionRefused:
		return ReasonPolicyRefused, fmt.Sprintf("Plan %s is refused: %s. No approval overrides this: change the program, or ask the policy's editors for an exemption", f.Pending.ID, v.Message)
	case v.Opinion == OpinionHeld, v.Opinion == OpinionPassed && f.Stack.Mode == ModePolicy && !f.Stack.Force:
		return ReasonAwaitingApproval, fmt.Sprintf("Plan %s waits for approval: %s. Review it, then: yuba approve %s", f.Pending.ID, v.Message, f.Stack.Call)
	}
	return "", ""
}

// reviewsByPolicy reports whether a plan must be kept until contracts and policies have judged it.
func reviewsByPolicy(f Facts) bool {
	return f.Contracts.Bound || f.Policy.Bound || f.Policy.Problem != "" || f.Stack.Mode == ModePolicy && !f.Stack.Force
}

// verdictEnds is when the verdict about the pending plan ends, or policies that are not known may be;
// zero for never.
func verdictEnds(f Facts) time.Time {
	if f.Policy.Problem != "" {
		return lookAgain(f)
	}
	if v := judged(f); f.Policy.Bound && v != nil {
		return v.Until
	}
	return time.Time{}
}

// pendingVerdictEnds is verdictEnds if there is a plan that would then be judged again.
func pendingVerdictEnds(f Facts) time.Time {
	if f.Pending == nil || !fits(f) || pendingRejected(f) {
		return time.Time{}
	}
	return verdictEnds(f)
}

// earlier returns the earlier of two times; a zero time is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
