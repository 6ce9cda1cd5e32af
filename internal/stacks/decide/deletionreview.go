// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "fmt"

// plansDestruction returns the plan of the destruction that policies judge; nil if there is none that
// can be applied. A pending plan from before the deletion does not count.
func plansDestruction(f Facts) *Plan {
	p := f.Pending
	switch {
	case !f.Policy.Bound || p == nil || !p.Deletion || !p.Usable:
		return nil
	case p.Config != f.Config, !f.Stack.OwnBackend && p.StateSerial != f.StateSerial:
		return nil
	case p.Verdict != nil && p.Verdict.NeedsPlan && p.Verdict.Set == f.Policy.Set:
		return nil
	case f.Last != nil && f.Last.Apply && unsuccessful(f.Last):
		return nil // the failed apply may have changed anything before it ended
	}
	return p
}

func deletionIsJudged(f Facts) (Decision, bool) {
	p := plansDestruction(f)
	if p == nil || pendingRejected(f) || judged(f) != nil {
		return Decision{}, false
	}
	return Decision{Verb: VerbJudge, Subject: p.ID, Reason: ReasonJudging, Message: fmt.Sprintf("Asking the policies about plan %s of the deletion", p.ID)}, true
}

// deletionMayDestroy: who deletes the object asks for the destruction, so a plan that no policy objects
// to needs nobody else.
func deletionMayDestroy(f Facts) (Decision, bool) {
	p := plansDestruction(f)
	if p == nil || pendingRejected(f) {
		return Decision{}, false
	}
	v := judged(f)
	if v == nil || v.Opinion == OpinionRefused || v.Opinion == OpinionHeld && (!named(f) || v.Recorded) {
		return Decision{}, false
	}
	return Decision{Verb: VerbApply, Subject: p.ID, Reason: ReasonApproved, Message: "Deletion in progress", Purpose: PurposeDelete, Destroy: true}, true
}

// deletionWaits reports a plan that people must approve, or that nobody may apply. A request makes
// another one.
func deletionWaits(f Facts) (Decision, bool) {
	p := plansDestruction(f)
	if p == nil || requested(f) {
		return Decision{}, false
	}
	d := Decision{Verb: VerbAwaitApproval, Subject: p.ID, Reason: ReasonAwaitingApproval, NextCheck: verdictEnds(f)}
	const keep = "to keep the resources, set spec.destroyResourcesOnDeletion to false"
	switch v := judged(f); {
	case pendingRejected(f):
		d.Reason = ReasonRejected
		d.Message = fmt.Sprintf("Deletion held: plan %s was rejected. For a new plan: yuba replan %s; %s", p.ID, f.Stack.Call, keep)
	case v != nil && v.Opinion == OpinionRefused:
		d.Reason = ReasonPolicyRefused
		d.Message = fmt.Sprintf("Deletion refused, nothing was destroyed: %s. No approval overrides this: ask the policy's editors for an exemption; %s", v.Message, keep)
	case v != nil:
		d.Message = fmt.Sprintf("Deletion waits for approval of plan %s: %s. Review it, then: yuba approve %s; %s", p.ID, v.Message, f.Stack.Call, keep)
	}
	return d, true
}
