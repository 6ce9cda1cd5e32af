// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"pgregory.net/rapid"
)

// publishing: the stack publishes contracts; checkedAs adds what they say about the pending plan.
func (g *given) publishing() *given {
	g.facts.Contracts, g.facts.Stack.Call = Contracts{Bound: true, Set: "set-1"}, "vpc -n team"
	return g
}

func (g *given) checkedAs(breaks string, but ...func(*ContractVerdict)) *given {
	g.publishing()
	g.facts.Pending.Contracts = &ContractVerdict{Breaks: breaks != "", Message: breaks, Set: "set-1"}
	for _, change := range but {
		change(g.facts.Pending.Contracts)
	}
	return g
}

const (
	breaksOne    = "contract base 1.2.0 of team/vpc breaks 1 of 1 consumer"
	waitsToBreak = "Plan plan-main-1 waits for approval: " + breaksOne + "\nTo apply it all the same: yuba approve vpc -n team"
)

func checks(id string) Decision {
	return Decision{Verb: VerbJudge, Subject: id, Reason: ReasonJudging, Message: "Checking plan " + id + " against contracts"}
}

func breaks(message string) Decision {
	d := awaitsApproval("plan-main-1", message, nextDriftCheck)
	d.Reason = ReasonContractBroken
	return d
}

var contractScenarios = scenarios{
	"a plan is checked before it is applied": {awaiting("plan-main-1").auto().publishing(), checks("plan-main-1")},
	"contracts are checked before policies": {
		awaiting("plan-main-1").auto().bound().publishing(), checks("plan-main-1"),
	},
	"a plan is checked again for another consumer": {
		awaiting("plan-main-1").auto().checkedAs("", func(v *ContractVerdict) { v.Set = "set-0" }), checks("plan-main-1"),
	},
	"a plan that fits is applied in mode auto": {awaiting("plan-main-1").auto().checkedAs(""), applies("plan-main-1")},
	"a plan that fits waits in mode manual":    {awaiting("plan-main-1").checkedAs(""), awaitsApproval("plan-main-1", setApprove, nextDriftCheck)},
	"a plan that breaks waits in mode auto":    {awaiting("plan-main-1").auto().checkedAs(breaksOne), breaks(waitsToBreak)},
	"a plan that breaks waits although it is freed": {
		awaiting("plan-main-1").byPolicy().judgedAs(OpinionFreed, "").checkedAs(breaksOne), breaks(waitsToBreak),
	},
	"a plan that breaks waits on a forced stack": {awaiting("plan-main-1").forced().checkedAs(breaksOne), breaks(waitsToBreak)},
	"a person lets it break, by the field":       {awaiting("plan-main-1").checkedAs(breaksOne).approving("plan-main-1"), applies("plan-main-1")},
	"a person lets it break, by the annotation":  {awaiting("plan-main-1").auto().checkedAs(breaksOne).permitting("plan-main-1"), applies("plan-main-1")},
	"what policies refuse is refused, whatever it breaks": {
		awaiting("plan-main-1").auto().judgedAs(OpinionRefused, destroysOne).checkedAs(breaksOne), refused(destroysOne),
	},
	"a plan without planned outputs is made again": {
		awaiting("plan-main-1").auto().checkedAs("", func(v *ContractVerdict) { v.NeedsPlan = true }),
		plans(ReasonPlanStale, "The plan was made before the stack published contracts, without the details that they need"),
	},
	"a plan that read what has moved is made again": {
		awaiting("plan-main-1").approving("plan-main-1").with(func(f *Facts) { f.Contracts.Moved = "plan again: contract base has changed" }),
		plans(ReasonPlanStale, "plan again: contract base has changed"),
	},
	"nothing is applied while contracts are not known": {
		awaiting("plan-main-1").auto().checkedAs("").with(func(f *Facts) { f.Contracts.Problem = "not read yet" }),
		Decision{Verb: VerbAwaitApproval, Subject: "plan-main-1", Reason: ReasonContractsUnknown, NextCheck: noon.Add(afterFifteen),
			Message: "Plan plan-main-1 waits: its contracts are not known: not read yet"},
	},
	"a producer plans first, and applies what fits": {
		settled().auto().publishing().config("sha256:other"), plans(ReasonConfigChanged, "The configuration changed"),
	},
	"a missing producer is waited for, and no failure": {
		settled().auto().with(func(f *Facts) {
			f.Config, f.Inputs = "", Inputs{Waits: true, WaitsFor: "team/network", Problem: "Waiting: team/network has not published contract base"}
		}),
		Decision{Verb: VerbWait, Subject: "team/network", Reason: ReasonWaiting, Message: "Waiting: team/network has not published contract base"},
	},
}

func drawContracts(t *rapid.T) Contracts {
	if rapid.Bool().Draw(t, "without contracts") {
		return Contracts{}
	}
	return Contracts{Bound: usually(t, "publishes"), Set: "set-1", Problem: rapid.SampledFrom([]string{"", "", "", "not read yet"}).Draw(t, "contracts problem"),
		Moved: rapid.SampledFrom([]string{"", "", "", "base has changed"}).Draw(t, "moved")}
}

func drawContractVerdict(t *rapid.T) *ContractVerdict {
	if rapid.Bool().Draw(t, "without contract verdict") {
		return nil
	}
	return &ContractVerdict{Breaks: rapid.Bool().Draw(t, "breaks"), Message: breaksOne, NeedsPlan: rarely(t, "needs planned outputs"),
		Set: rapid.SampledFrom([]string{"set-1", "set-1", "set-2"}).Draw(t, "checked by")}
}

// contractLaw: what is applied was checked against the present contracts, breaks none unless a person
// approved it, and read what is current.
func contractLaw(f Facts, d Decision) string {
	if d.Purpose == PurposeDelete || d.Verb != VerbApply && d.Verb != VerbPlanAndApply {
		return ""
	}
	named := f.Pending != nil && (d.Subject == f.Stack.Approved || d.Subject == f.Stack.Allowed)
	switch {
	case d.Verb == VerbApply && f.Contracts.Moved != "":
		return "applies a plan that read what has moved"
	case f.Contracts.Problem != "" && (f.Contracts.Bound || d.Verb == VerbApply):
		return "applies although the contracts are not known"
	case !f.Contracts.Bound:
		return ""
	case d.Verb == VerbPlanAndApply:
		return "applies a plan that was not checked"
	case f.Pending.Contracts == nil, f.Pending.Contracts.Set != f.Contracts.Set:
		return "applies a plan that was not checked against these contracts"
	case f.Pending.Contracts.Breaks && !named:
		return "breaks a contract, and nobody approved that"
	}
	return ""
}
