// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

const setApprove = `Plan generated: set approvePlan: "plan-main-1" to approve this plan.`

// asRejected is the decision about a rejected plan.
func asRejected(next time.Time) Decision {
	d := awaitsApproval("plan-main-1", "Plan plan-main-1 was rejected; change the stack or run `yuba replan` for a new plan", next)
	d.Reason = ReasonRejected
	return d
}

// Approvals, and changes that void a plan.
var approvalScenarios = scenarios{
	"a plan waits for approval while drift detection continues": {
		awaiting("plan-main-1"), awaitsApproval("plan-main-1", setApprove, nextDriftCheck),
	},
	"a plan after a failed apply mentions the failure until an apply succeeds": {
		awaiting("plan-main-1").with(func(f *Facts) { f.Stack.ApplyFailed = true }), awaitsApproval("plan-main-1", setApprove+" The last apply failed.", nextDriftCheck),
	},
	"without drift detection a plan waits for approval indefinitely": {
		awaiting("plan-main-1").ignoringDrift(), awaitsApproval("plan-main-1", setApprove, time.Time{}),
	},
	"the exact id approves": {
		awaiting("plan-main-1").approving("plan-main-1"), applies("plan-main-1"),
	},
	"an approved destroy plan destroys": {
		awaiting("plan-main-1").approving("plan-main-1").toDestroy().with(func(f *Facts) { f.Pending.Destroy = true }),
		applies("plan-main-1").ofDestroy(),
	},
	"a prefix of an id approves nothing": {
		awaiting("plan-main-1").approving("plan-main"),
		awaitsApproval("plan-main-1", setApprove+` (approvePlan names "plan-main", which is not pending.)`, nextDriftCheck),
	},
	"a stale id approves nothing and is reported": {
		awaiting("plan-main-1").approving("plan-main-older"),
		awaitsApproval("plan-main-1", setApprove+` (approvePlan names "plan-main-older", which is not pending.)`, nextDriftCheck),
	},
	"the id of the last applied plan approves nothing and is not reported": {
		awaiting("plan-main-1").approving("plan-main-0"), awaitsApproval("plan-main-1", setApprove, nextDriftCheck),
	},
	"a used id approves nothing, not even a plan with the same id": {
		awaiting("plan-main-0").approving("plan-main-0"),
		awaitsApproval("plan-main-0", `Plan generated: set approvePlan: "plan-main-0" to approve this plan.`, nextDriftCheck),
	},
	"an empty approval does not approve a plan without an id": {
		awaiting(""), awaitsApproval("", `Plan generated: set approvePlan: "" to approve this plan.`, nextDriftCheck),
	},
	"a pending plan is applied when the mode becomes auto": {
		awaiting("plan-main-1").auto(), applies("plan-main-1"),
	},
	"a pending plan is applied when the stack is forced": {
		awaiting("plan-main-1").forced(), applies("plan-main-1"),
	},
	"mode disable does not apply a pending plan": {
		awaiting("plan-main-1").disabled(),
		awaitsApproval("plan-main-1", `Plan generated: nothing is applied while approvePlan is "disable".`, nextDriftCheck),
	},
	"mode disable does not apply a pending plan of a forced stack": {
		awaiting("plan-main-1").disabled().forced(),
		awaitsApproval("plan-main-1", `Plan generated: nothing is applied while approvePlan is "disable".`, nextDriftCheck),
	},
	"plan-only does not apply an approved plan": {
		awaiting("plan-main-1").approving("plan-main-1").planOnly(),
		awaitsApproval("plan-main-1", "Plan generated: This object is in the plan only mode.", nextDriftCheck),
	},
	"a rejected plan stays pending": {
		awaiting("plan-main-1").rejecting("plan-main-1"), asRejected(nextDriftCheck),
	},
	"rejection takes precedence over approval": {
		awaiting("plan-main-1").rejecting("plan-main-1").approving("plan-main-1"), asRejected(nextDriftCheck),
	},
	"a rejected plan is not applied by mode auto": {
		awaiting("plan-main-1").rejecting("plan-main-1").auto(), asRejected(nextDriftCheck),
	},
	"after a rejected plan the next one is not applied, even in mode auto": {
		awaiting("plan-main-1").rejecting("plan-main-1").auto().requested(), plans(ReasonRequested, wasRequested),
	},
	"the rejection of another plan has no effect": {
		awaiting("plan-main-1").rejecting("plan-main-older").approving("plan-main-1"), applies("plan-main-1"),
	},
	"an approved plan is applied before a reconcile request is handled": {
		awaiting("plan-main-1").approving("plan-main-1").requested(), applies("plan-main-1"),
	},
	"an approved plan is applied before drift detection": {
		awaiting("plan-main-1").approving("plan-main-1").checkedForDrift(time.Hour), applies("plan-main-1"),
	},
	"a changed configuration voids an approval": {
		awaiting("plan-main-1").approving("plan-main-1").config(other), plans(ReasonConfigChanged, configChanged),
	},
	"a plan of another configuration is stale although the current one was planned": {
		awaiting("plan-main-1").approving("plan-main-1").with(func(f *Facts) { f.Pending.Config = other }),
		plans(ReasonPlanStale, "The configuration has changed since the plan was made"),
	},
	"a changed state voids an approval": {
		awaiting("plan-main-1").approving("plan-main-1").with(func(f *Facts) { f.StateSerial = 8 }),
		plans(ReasonPlanStale, "The state has changed since the plan was made"),
	},
	"a changed state voids an approval in mode auto; the new plan is applied": {
		awaiting("plan-main-1").auto().with(func(f *Facts) { f.StateSerial = 8 }),
		plansAndApplies(ReasonPlanStale, "The state has changed since the plan was made"),
	},
	"a state with an earlier serial counts as changed": {
		awaiting("plan-main-1").approving("plan-main-1").with(func(f *Facts) { f.StateSerial = 6 }),
		plans(ReasonPlanStale, "The state has changed since the plan was made"),
	},
	"the unknown serial of a custom backend voids nothing": {
		awaiting("plan-main-1").approving("plan-main-1").ownBackend().with(func(f *Facts) { f.StateSerial = 0 }),
		applies("plan-main-1"),
	},
	"a plan whose file is lost is made again, not applied": {
		awaiting("plan-main-1").approving("plan-main-1").with(func(f *Facts) { f.Pending.Usable = false }),
		plans(ReasonPlanStale, "The saved plan can no longer be used"),
	},
	"a destroy plan is void when destroy is switched off": {
		awaiting("plan-main-1").approving("plan-main-1").with(func(f *Facts) { f.Pending.Destroy = true }),
		plans(ReasonPlanStale, "The plan was made for another value of spec.destroy"),
	},
	"an ordinary plan is void when destroy is switched on": {
		awaiting("plan-main-1").approving("plan-main-1").toDestroy(),
		plans(ReasonPlanStale, "The plan was made for another value of spec.destroy").ofDestroy(),
	},
	"a stale plan is made again in plan-only mode too": {
		awaiting("plan-main-1").auto().planOnly().with(func(f *Facts) { f.StateSerial = 8 }),
		plans(ReasonPlanStale, "The state has changed since the plan was made"),
	},
	"an approved plan of an older source is not applied while the current one is not ready": {
		awaiting("plan-main-1").approving("plan-main-1").sourceGone(),
		Decision{Verb: VerbFail, Reason: ReasonArtifactFailed, Message: "could not get Source object: it is gone",
			NextCheck: noon.Add(afterFifteen)},
	},
	"an approved plan is not applied while inputs are missing": {
		awaiting("plan-main-1").approving("plan-main-1").inputsGone(),
		Decision{Verb: VerbFail, Reason: "InputsMissing", Message: "Secret vpc-credentials is missing",
			NextCheck: noon.Add(afterFifteen)},
	},
}
