// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

const (
	firstPlan           = "The stack has not been planned yet"
	configChanged       = "The configuration changed"
	modulesMayHaveMoved = "The source has a new revision; modules referenced by branch, tag or version range may have changed"
	wasRequested        = "Reconciliation was requested"
	forcedNow           = "The stack has changed, and spec.force applies changes"
)

// Reasons to plan, and the decision in each mode.
var planningScenarios = scenarios{
	"a new stack in manual mode is planned and not applied": {
		fresh(), plans(ReasonFirstPlan, firstPlan),
	},
	"a new stack in mode auto is planned and applied": {
		fresh().auto(), plansAndApplies(ReasonFirstPlan, firstPlan),
	},
	"a new forced stack is planned and applied": {
		fresh().forced(), plansAndApplies(ReasonFirstPlan, firstPlan),
	},
	"a new stack in mode disable is only planned": {
		fresh().disabled(), plans(ReasonFirstPlan, firstPlan),
	},
	"mode disable takes precedence over force": {
		fresh().disabled().forced(), plans(ReasonFirstPlan, firstPlan),
	},
	"plan-only takes precedence over auto": {
		fresh().auto().planOnly(), plans(ReasonFirstPlan, firstPlan),
	},
	"plan-only takes precedence over force": {
		fresh().forced().planOnly(), plans(ReasonFirstPlan, firstPlan),
	},
	"a plan id approves nothing before there is a plan": {
		fresh().approving("plan-main-1"), plans(ReasonFirstPlan, firstPlan),
	},
	"a new stack with spec.destroy gets a destroy plan": {
		fresh().toDestroy(), plans(ReasonFirstPlan, firstPlan).ofDestroy(),
	},
	"a settled stack rests until its next drift check": {
		settled(), rests(nextDriftCheck),
	},
	"a settled stack in mode auto rests too": {
		settled().auto(), rests(nextDriftCheck),
	},
	"a new generation with the same configuration is not planned": {
		settled().with(func(f *Facts) { f.Stack.Generation = 9 }), rests(nextDriftCheck),
	},
	"force applies at once when switched on": {
		settled().forced().with(func(f *Facts) { f.Stack.Generation = 2 }), plansAndApplies(ReasonForced, forcedNow).forDrift(),
	},
	"force without drift detection applies at once, too, but not as drift repair": {
		settled().forced().ignoringDrift().with(func(f *Facts) { f.Stack.Generation = 2 }), plansAndApplies(ReasonForced, forcedNow),
	},
	"a forced stack whose configuration was planned rests": {
		settled().forced(), rests(nextDriftCheck),
	},
	"force does not shorten the wait after a failure": {
		settled().forced().failed(time.Second).with(func(f *Facts) { f.Stack.Generation = 2 }), waitsForRetry("12:00:14", noon.Add(14*time.Second)),
	},
	"force switched on in mode disable changes nothing": {
		settled().forced().disabled().with(func(f *Facts) { f.Stack.Generation = 2 }), rests(nextDriftCheck),
	},
	"force switched on with plan-only changes nothing": {
		settled().forced().planOnly().with(func(f *Facts) { f.Stack.Generation = 2 }), rests(nextDriftCheck),
	},
	"a changed configuration is planned in manual mode": {
		settled().config(other), plans(ReasonConfigChanged, configChanged),
	},
	"a changed configuration is planned and applied in mode auto": {
		settled().auto().config(other), plansAndApplies(ReasonConfigChanged, configChanged),
	},
	"a changed configuration replaces a pending plan": {
		awaiting("plan-main-1").config(other), plans(ReasonConfigChanged, configChanged),
	},
	"a commit outside the stack resolves modules again if they may have moved": {
		settled().config(other).movable(), plans(ReasonModulesMayMove, modulesMayHaveMoved),
	},
	"a commit outside the stack applies moved modules in mode auto": {
		settled().auto().config(other).movable(), plansAndApplies(ReasonModulesMayMove, modulesMayHaveMoved),
	},
	"a changed object is planned whether modules have moved or not": {
		settled().config(other).movable().with(func(f *Facts) { f.Stack.Generation = 2 }), plans(ReasonConfigChanged, configChanged),
	},
	"a stack with a pending plan is planned whether modules have moved or not": {
		awaiting("plan-main-1").config(other).movable(), plans(ReasonConfigChanged, configChanged),
	},
	"a stack whose last run failed is planned whether modules have moved or not": {
		settled().failed(time.Second, ofOther).movable(), plans(ReasonConfigChanged, configChanged),
	},
	"a stack whose drift check is due is planned whether modules have moved or not": {
		settled().config(other).movable().checkedForDrift(time.Hour), plans(ReasonConfigChanged, configChanged),
	},
	"a reconcile request plans whether modules have moved or not": {
		settled().config(other).movable().requested(), plans(ReasonRequested, wasRequested),
	},
	"switching on destroy changes the configuration, whose plan destroys": {
		settled().toDestroy().config(other), plans(ReasonConfigChanged, configChanged).ofDestroy(),
	},
	"destroy in mode auto destroys": {
		settled().auto().toDestroy().config(other), plansAndApplies(ReasonConfigChanged, configChanged).ofDestroy(),
	},
	"a destroyed stack rests without drift detection": {
		settled().toDestroy(), rests(time.Time{}),
	},
	"a stack without any run on record rests when its configuration was planned": {
		settled().with(func(f *Facts) { f.Last = nil }), rests(nextDriftCheck),
	},
	"a reconcile request checks for drift when nothing changed": {
		settled().requested(), plans(ReasonRequested, wasRequested).forDrift(),
	},
	"a reconcile request in mode auto repairs drift": {
		settled().auto().requested(), plansAndApplies(ReasonRequested, wasRequested).forDrift(),
	},
	"a reconcile request without drift detection plans": {
		settled().ignoringDrift().requested(), plans(ReasonRequested, wasRequested),
	},
	"a reconcile request of a stack whose last plan no longer counts plans": {
		settled().requested().with(func(f *Facts) { f.Stack.PlannedConfig = "" }), plans(ReasonRequested, wasRequested),
	},
	"a handled reconcile request has no effect": {
		settled().with(func(f *Facts) { f.Stack.Requested, f.Stack.Handled = "first", "first" }), rests(nextDriftCheck),
	},
	"a withdrawn reconcile request has no effect": {
		settled().with(func(f *Facts) { f.Stack.Requested, f.Stack.Handled = "", "first" }), rests(nextDriftCheck),
	},
	"a reconcile request replans a pending plan": {
		awaiting("plan-main-1").requested(), plans(ReasonRequested, wasRequested),
	},
	"a reconcile request is the reason before a changed configuration": {
		settled().requested().config(other), plans(ReasonRequested, wasRequested),
	},
	"a reconcile request repeats a failed drift check": {
		settled().failed(time.Second, lookingForDrift).requested(), plans(ReasonRequested, wasRequested).forDrift(),
	},
	"a reconcile request after a repair that failed half-way deploys": {
		settled().failed(time.Second, lookingForDrift, applyBegan).requested(), plans(ReasonRequested, wasRequested),
	},
	"a reconcile request does not wait for the retry interval": {
		settled().failed(time.Second).requested(), plans(ReasonRequested, wasRequested),
	},
	"a reconcile request runs although retrying is pointless": {
		settled().failed(time.Hour, pointless).requested(), plans(ReasonRequested, wasRequested),
	},
}
