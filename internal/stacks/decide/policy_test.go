// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

// bound: policies judge the stack's plans; judgedAs adds what they said about the pending one.
func (g *given) bound() *given {
	g.facts.Policy, g.facts.Stack.Call = Policy{Bound: true, Set: "set-1"}, "vpc -n team"
	return g
}

func (g *given) byPolicy() *given { return g.mode(ModePolicy) }

func (g *given) judgedAs(opinion Opinion, message string, but ...func(*Verdict)) *given {
	g.bound()
	g.facts.Pending.Verdict = &Verdict{Opinion: opinion, Message: message, Set: "set-1"}
	for _, change := range but {
		change(g.facts.Pending.Verdict)
	}
	return g
}

func (g *given) permitting(id string) *given { g.facts.Stack.Allowed = id; return g }

func judges(id string) Decision {
	return Decision{Verb: VerbJudge, Subject: id, Reason: ReasonJudging, Message: "Asking the policies about plan " + id}
}

const (
	destroysOne = "safe: no-destroy: null_resource.a is destroyed"
	waitsForOne = "Plan plan-main-1 waits for approval: " + destroysOne + ". Review it, then: yuba approve vpc -n team"
)

func refused(message string) Decision {
	d := awaitsApproval("plan-main-1", "Plan plan-main-1 is refused: "+message+". No approval overrides this: change the program, or ask the policy's editors for an exemption", nextDriftCheck)
	d.Reason = ReasonPolicyRefused
	return d
}

// Policies between the plan and its apply.
var policyScenarios = scenarios{
	"mode auto plans first": {
		fresh().auto().bound(), plans(ReasonFirstPlan, "The stack has not been planned yet"),
	},
	"mode policy plans first": {
		fresh().byPolicy(), plans(ReasonFirstPlan, "The stack has not been planned yet"),
	},
	"force plans first": {
		fresh().forced().bound(), plans(ReasonFirstPlan, "The stack has not been planned yet"),
	},
	"a pending plan is judged":                             {awaiting("plan-main-1").byPolicy().bound(), judges("plan-main-1")},
	"a plan that waits for a person anyway is judged, too": {awaiting("plan-main-1").bound(), judges("plan-main-1")},
	"other policies judge again": {
		awaiting("plan-main-1").auto().judgedAs(OpinionFreed, "", func(v *Verdict) { v.Set = "set-0" }), judges("plan-main-1"),
	},
	"an approved plan is judged before it is applied": {
		awaiting("plan-main-1").bound().approving("plan-main-1"), judges("plan-main-1"),
	},
	"a verdict ends with its time": {
		awaiting("plan-main-1").auto().judgedAs(OpinionFreed, "", func(v *Verdict) { v.Until = noon }), judges("plan-main-1"),
	},
	"a freed plan is applied in mode policy": {awaiting("plan-main-1").byPolicy().judgedAs(OpinionFreed, ""), applies("plan-main-1")},
	"a freed plan is applied in mode auto":   {awaiting("plan-main-1").auto().judgedAs(OpinionFreed, ""), applies("plan-main-1")},
	"a freed plan waits for the person of a manual stack": {
		awaiting("plan-main-1").judgedAs(OpinionFreed, ""), awaitsApproval("plan-main-1", setApprove, nextDriftCheck),
	},
	"a plan that only passes is applied in mode auto": {awaiting("plan-main-1").auto().judgedAs(OpinionPassed, "no policy frees it"), applies("plan-main-1")},
	"a plan that only passes waits in mode policy": {
		awaiting("plan-main-1").byPolicy().judgedAs(OpinionPassed, destroysOne), awaitsApproval("plan-main-1", waitsForOne, nextDriftCheck),
	},
	"a held plan waits in mode auto": {
		awaiting("plan-main-1").auto().judgedAs(OpinionHeld, destroysOne), awaitsApproval("plan-main-1", waitsForOne, nextDriftCheck),
	},
	"a held plan waits in mode policy": {
		awaiting("plan-main-1").byPolicy().judgedAs(OpinionHeld, destroysOne), awaitsApproval("plan-main-1", waitsForOne, nextDriftCheck),
	},
	"a held plan of a forced stack waits": {
		awaiting("plan-main-1").forced().judgedAs(OpinionHeld, destroysOne), awaitsApproval("plan-main-1", waitsForOne, nextDriftCheck),
	},
	"a person releases a held plan by the field": {
		awaiting("plan-main-1").judgedAs(OpinionHeld, destroysOne).approving("plan-main-1"), applies("plan-main-1"),
	},
	"a person releases a held plan by the annotation": {
		awaiting("plan-main-1").auto().judgedAs(OpinionHeld, destroysOne).permitting("plan-main-1"), applies("plan-main-1"),
	},
	"nobody releases a refused plan": {
		awaiting("plan-main-1").judgedAs(OpinionRefused, destroysOne).approving("plan-main-1"), refused(destroysOne),
	},
	"mode auto does not apply a refused plan": {awaiting("plan-main-1").auto().judgedAs(OpinionRefused, destroysOne), refused(destroysOne)},
	"force does not apply a refused plan":     {awaiting("plan-main-1").forced().judgedAs(OpinionRefused, destroysOne), refused(destroysOne)},
	"naming a plan is not an approval that the API has recorded": {
		awaiting("plan-main-1").approving("plan-main-1").judgedAs(OpinionHeld, destroysOne, recorded), awaitsApproval("plan-main-1", waitsForOne, nextDriftCheck),
	},
	"an annotation is not an approval that the API has recorded": {
		awaiting("plan-main-1").auto().permitting("plan-main-1").judgedAs(OpinionHeld, destroysOne, recorded), awaitsApproval("plan-main-1", waitsForOne, nextDriftCheck),
	},
	"what the people that policies ask for approved is applied": {
		awaiting("plan-main-1").permitting("plan-main-1").judgedAs(OpinionApproved, ""), applies("plan-main-1"),
	},
	"a waiting plan is judged again when its verdict ends": {
		awaiting("plan-main-1").auto().judgedAs(OpinionHeld, destroysOne, func(v *Verdict) { v.Until = noon.Add(time.Minute) }),
		awaitsApproval("plan-main-1", waitsForOne, noon.Add(time.Minute)),
	},
	"a plan without details is made again": {
		awaiting("plan-main-1").auto().judgedAs(OpinionHeld, "", func(v *Verdict) { v.NeedsPlan = true }),
		plans(ReasonPlanStale, "The plan was made before policies bound the stack, without the details that they need"),
	},
	"nothing is applied while the policies are not known": {
		awaiting("plan-main-1").approving("plan-main-1").judgedAs(OpinionFreed, "").with(func(f *Facts) { f.Policy.Problem = "not read yet" }),
		Decision{Verb: VerbAwaitApproval, Subject: "plan-main-1", Reason: ReasonPolicyUnknown, NextCheck: noon.Add(afterFifteen),
			Message: "Plan plan-main-1 waits: its policies are not known: not read yet"},
	},
	"mode policy without policies waits for a person": {
		awaiting("plan-main-1").byPolicy().with(func(f *Facts) { f.Stack.Call = "vpc -n team" }),
		awaitsApproval("plan-main-1", "Plan plan-main-1 waits for approval: no policy selects the stack. Review it, then: yuba approve vpc -n team", nextDriftCheck),
	},
	"a configuration that policies refuse is not planned": {
		fresh().auto().bound().with(func(f *Facts) { f.Policy.Refused = "safe: no-external-data: data.external.x, at main.tf:3" }),
		Decision{Verb: VerbFail, Reason: ReasonPolicyRefused, Message: "Refused before planning: safe: no-external-data: data.external.x, at main.tf:3. Nothing of it was executed"},
	},
	"a refusal that time alone can end is asked about again": {
		fresh().auto().bound().with(func(f *Facts) {
			f.Policy.Refused, f.Policy.RefusedUntil = "safe: change-freeze", noon.Add(5*time.Minute)
		}),
		Decision{Verb: VerbFail, Reason: ReasonPolicyRefused, Message: "Refused before planning: safe: change-freeze. Nothing of it was executed", NextCheck: noon.Add(5 * time.Minute)},
	},
	"nothing is planned while the policies are not known": {
		fresh().auto().bound().with(func(f *Facts) { f.Policy.Problem = "not read yet" }),
		Decision{Verb: VerbWait, Reason: ReasonPolicyUnknown, NextCheck: noon.Add(afterFifteen), Message: "No run starts while the policies are not known: not read yet"},
	},
	"what policies refuse is not destroyed by its configuration either": {
		settled().deleted().bound().with(func(f *Facts) { f.Stack.DestroyOnDeletion, f.Policy.Refused = true, "safe: no-external-data" }),
		Decision{Verb: VerbFail, Reason: ReasonPolicyRefused, Message: "Refused before planning: safe: no-external-data. Nothing was destroyed"},
	},
	"a run that policies refused after init waits for other policies": {
		settled().bound().failed(time.Hour, func(r *Run) { r.RefusedBy, r.Waits = "set-1", true }),
		Decision{Verb: VerbWait, Reason: ReasonRetryPending, Message: "Policies refused the configuration; retrying after a change to source, spec or policies"},
	},
	"a run that policies refused after init waits for their time": {
		settled().bound().failed(time.Hour, func(r *Run) { r.RefusedBy, r.Waits, r.RefusedUntil = "set-1", true, noon.Add(time.Minute) }),
		Decision{Verb: VerbWait, Reason: ReasonRetryPending, NextCheck: noon.Add(time.Minute), Message: "Policies refused the configuration; retrying at 2026-03-01 12:01:00 UTC"},
	},
	"and runs again when it has come": {
		settled().bound().failed(time.Hour, func(r *Run) { r.RefusedBy, r.Waits, r.RefusedUntil = "set-1", true, noon }),
		Decision{Verb: VerbPlan, Reason: ReasonRetry, Message: "The policies that refused the last run may now allow it", Purpose: PurposeDeploy, Describe: true, Again: true},
	},
	"other policies are a reason to try again": {
		settled().bound().failed(time.Minute, func(r *Run) { r.RefusedBy, r.Waits = "set-0", true }),
		Decision{Verb: VerbPlan, Reason: ReasonRetry, Message: "The policies that refused the last run have changed", Purpose: PurposeDeploy, Describe: true, Again: true},
	},
	"a rejected plan is not judged": {
		awaiting("plan-main-1").auto().bound().rejecting("plan-main-1"),
		Decision{Verb: VerbAwaitApproval, Subject: "plan-main-1", Reason: ReasonRejected, NextCheck: nextDriftCheck,
			Message: "Plan plan-main-1 was rejected; change the stack or run `yuba replan` for a new plan"},
	},
}

func recorded(v *Verdict) { v.Recorded = true }

// policyLaw: what is applied was judged by the present policies, refused by none, and approved if
// one asks for it.
func policyLaw(f Facts, d Decision) string {
	if d.Purpose == PurposeDelete || d.Verb != VerbApply && d.Verb != VerbPlanAndApply {
		return ""
	}
	named := f.Pending != nil && (d.Subject == f.Stack.Approved || d.Subject == f.Stack.Allowed)
	switch {
	case f.Policy.Problem != "":
		return "applies although the policies are not known"
	case !f.Policy.Bound:
		return ""
	case d.Verb == VerbPlanAndApply:
		return "applies a plan that no policy has seen"
	case f.Pending.Verdict == nil, f.Pending.Verdict.Set != f.Policy.Set:
		return "applies a plan that these policies have not judged"
	case !f.Pending.Verdict.Until.IsZero() && !f.Now.Before(f.Pending.Verdict.Until):
		return "applies with a verdict that has ended"
	case f.Pending.Verdict.Opinion == OpinionRefused:
		return "applies a refused plan"
	case f.Pending.Verdict.Opinion == OpinionHeld && !named:
		return "applies a held plan that nobody approved"
	case f.Pending.Verdict.Opinion == OpinionHeld && f.Pending.Verdict.Recorded:
		return "applies a plan for which recorded approvals are missing"
	}
	return ""
}

// prePlanLaw: no run that plans begins while policies refuse the configuration, or are not known.
func prePlanLaw(f Facts, d Decision) string {
	if (d.Verb == VerbPlan || d.Verb == VerbPlanAndApply) && (f.Policy.Refused != "" || f.Policy.Problem != "") {
		return "plans what policies refuse"
	}
	return ""
}

// judgeLaw: a plan is judged once, and not if it can never be applied.
func judgeLaw(f Facts, d Decision) string {
	if d.Verb != VerbJudge {
		return ""
	}
	g := f
	p := *f.Pending
	p.Verdict = &Verdict{Opinion: OpinionHeld, Message: "somebody must look", Set: f.Policy.Set}
	p.Contracts = &ContractVerdict{Set: f.Contracts.Set}
	g.Pending = &p
	if then := Decide(g); then.Verb == VerbJudge {
		return "judges again"
	}
	return ""
}
