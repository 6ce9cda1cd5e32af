// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

const keepResources = "; to keep the resources, set spec.destroyResourcesOnDeletion to false"

// deletionPlanned: policies bind the deleted stack, and its destruction is planned.
func deletionPlanned(changes ...func(*Facts)) *given {
	g := settled().deleted().bound()
	g.facts.Pending = &Plan{ID: "plan-main-1", Config: present, StateSerial: 7, Usable: true, Destroy: true, Deletion: true}
	g.facts.Last = &Run{ID: "run-2", Purpose: PurposeDelete, Config: present, Destroy: true, OnlyPlanned: true, Finished: noon.Add(-time.Minute)}
	for _, change := range changes {
		change(&g.facts)
	}
	return g
}

func destructionIsPlanned() Decision {
	d := destroys()
	d.Verb = VerbPlan
	return d
}

func destroysBy(id string) Decision {
	return Decision{Verb: VerbApply, Subject: id, Reason: ReasonApproved, Message: "Deletion in progress", Purpose: PurposeDelete, Destroy: true}
}

func deletionWaitsFor(what string, next time.Time) Decision {
	return awaitsApproval("plan-main-1", "Deletion waits for approval of plan plan-main-1: "+what+". Review it, then: yuba approve vpc -n team"+keepResources, next)
}

func deletionRefused() Decision {
	d := awaitsApproval("plan-main-1", "Deletion refused, nothing was destroyed: "+destroysOne+". No approval overrides this: ask the policy's editors for an exemption"+keepResources, time.Time{})
	d.Reason = ReasonPolicyRefused
	return d
}

func deletionRejected() Decision {
	d := awaitsApproval("plan-main-1", "Deletion held: plan plan-main-1 was rejected. For a new plan: yuba replan vpc -n team"+keepResources, time.Time{})
	d.Reason = ReasonRejected
	return d
}

// Policies between the plan of a deletion and its apply.
var deletionReviewScenarios = scenarios{
	"a deletion that policies bind is planned first":         {settled().deleted().bound(), destructionIsPlanned()},
	"without a source it is planned with the kept one":       {settled().deleted().bound().sourceGone(), destructionIsPlanned().withKept()},
	"a pending plan from before the deletion does not count": {awaiting("plan-main-1").toDestroy().deleted().judgedAs(OpinionFreed, ""), destructionIsPlanned()},
	"its plan is judged": {deletionPlanned(), Decision{Verb: VerbJudge, Subject: "plan-main-1", Reason: ReasonJudging,
		Message: "Asking the policies about plan plan-main-1 of the deletion"}},
	"other policies judge it again": {deletionPlanned().judgedAs(OpinionPassed, "", func(v *Verdict) { v.Set = "set-0" }), Decision{Verb: VerbJudge, Subject: "plan-main-1",
		Reason: ReasonJudging, Message: "Asking the policies about plan plan-main-1 of the deletion"}},
	"what no policy objects to is destroyed, whatever the mode":  {deletionPlanned().byPolicy().judgedAs(OpinionPassed, ""), destroysBy("plan-main-1")},
	"what policies free is destroyed":                            {deletionPlanned().judgedAs(OpinionFreed, ""), destroysBy("plan-main-1")},
	"what people approved is destroyed":                          {deletionPlanned().judgedAs(OpinionApproved, ""), destroysBy("plan-main-1")},
	"what was planned with kept inputs is destroyed":             {deletionPlanned(func(f *Facts) { f.Pending.Config, f.Last.Config = "", "" }).sourceGone().judgedAs(OpinionFreed, ""), destroysBy("plan-main-1")},
	"what policies hold waits":                                   {deletionPlanned().auto().judgedAs(OpinionHeld, destroysOne), deletionWaitsFor(destroysOne, time.Time{})},
	"force does not release it":                                  {deletionPlanned().forced().judgedAs(OpinionHeld, destroysOne), deletionWaitsFor(destroysOne, time.Time{})},
	"a person releases it by the field":                          {deletionPlanned().judgedAs(OpinionHeld, destroysOne).approving("plan-main-1"), destroysBy("plan-main-1")},
	"a person releases it by the annotation":                     {deletionPlanned().auto().judgedAs(OpinionHeld, destroysOne).permitting("plan-main-1"), destroysBy("plan-main-1")},
	"the approval of another plan does not release it":           {deletionPlanned().auto().judgedAs(OpinionHeld, destroysOne).permitting("plan-main-0"), deletionWaitsFor(destroysOne, time.Time{})},
	"naming it is not an approval that the API has recorded, as": {deletionPlanned().judgedAs(OpinionHeld, destroysOne, recorded).approving("plan-main-1"), deletionWaitsFor(destroysOne, time.Time{})},
	"a held deletion is judged again when its verdict ends": {deletionPlanned().judgedAs(OpinionHeld, destroysOne, func(v *Verdict) { v.Until = noon.Add(time.Minute) }),
		deletionWaitsFor(destroysOne, noon.Add(time.Minute))},
	"nobody releases what policies deny":                       {deletionPlanned().judgedAs(OpinionRefused, destroysOne).approving("plan-main-1"), deletionRefused()},
	"a rejected plan of a deletion waits":                      {deletionPlanned().judgedAs(OpinionFreed, "").rejecting("plan-main-1"), deletionRejected()},
	"a request plans a held deletion anew":                     {deletionPlanned().judgedAs(OpinionHeld, destroysOne).requested(), destructionIsPlanned()},
	"an approval with a request destroys by the approved plan": {deletionPlanned().auto().judgedAs(OpinionHeld, destroysOne).permitting("plan-main-1").requested(), destroysBy("plan-main-1")},
	"a request plans a rejected deletion anew":                 {deletionPlanned().judgedAs(OpinionHeld, destroysOne).rejecting("plan-main-1").requested(), destructionIsPlanned()},
	"another source plans it anew":                             {deletionPlanned().judgedAs(OpinionHeld, destroysOne).config(other), destructionIsPlanned()},
	"another state plans it anew":                              {deletionPlanned(func(f *Facts) { f.StateSerial = 8 }).judgedAs(OpinionFreed, ""), destructionIsPlanned()},
	"a plan whose file is lost is made anew":                   {deletionPlanned(func(f *Facts) { f.Pending.Usable = false }).judgedAs(OpinionFreed, ""), destructionIsPlanned()},
	"a failed apply plans it anew, after a while": {deletionPlanned(func(f *Facts) {
		f.Last.Apply, f.Last.ApplyStarted, f.Last.Failed, f.Last.Finished = true, true, true, noon.Add(-time.Hour)
	}).judgedAs(OpinionFreed, ""), destructionIsPlanned().again()},
	"the plan alone does not let the object go":         {deletionPlanned().judgedAs(OpinionHeld, destroysOne).ownBackend(), deletionWaitsFor(destroysOne, time.Time{})},
	"without policies it is destroyed at once":          {deletionPlanned(func(f *Facts) { f.Policy = Policy{} }), destroys()},
	"a suspended stack's held deletion stays suspended": {deletionPlanned().judgedAs(OpinionHeld, destroysOne).suspended(), deletionIsSuspended},
	"held, and destroyed meanwhile":                     {deletionPlanned(func(f *Facts) { f.Last.OnlyPlanned = false }).judgedAs(OpinionHeld, destroysOne), destroyedAll},
}
