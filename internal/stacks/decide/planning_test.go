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
	"disable beats force": {
		fresh().disabled().forced(), plans(ReasonFirstPlan, firstPlan),
	},
	"plan-only beats auto": {
		fresh().auto().planOnly(), plans(ReasonFirstPlan, firstPlan),
	},
	"plan-only beats force": {
		fresh().forced().planOnly(), plans(ReasonFirstPlan, firstPlan),
	},
	"a plan id approves nothing before there is a plan": {
		fresh().approving("plan-main-1"), plans(ReasonFirstPlan, firstPlan),
	},
	"a new stack that is to be destroyed gets a destroy plan": {
		fresh().toDestroy(), plans(ReasonFirstPlan, firstPlan).ofDestroy(),
	},
	"a settled stack rests until its next drift check": {
		settled(), rests(nextDriftCheck),
	},
	"a settled stack in mode auto rests too": {
		settled().auto(), rests(nextDriftCheck),
	},
	"a new generation with the same configuration is no reason to plan": {
		settled().with(func(f *Facts) { f.Stack.Generation = 9 }), rests(nextDriftCheck),
	},
	"force that is switched on applies at once": {
		settled().forced().with(func(f *Facts) { f.Stack.Generation = 2 }), plansAndApplies(ReasonForced, forcedNow).forDrift(),
	},
	"force without drift detection applies at once, too, and that is not about drift": {
		settled().forced().ignoringDrift().with(func(f *Facts) { f.Stack.Generation = 2 }), plansAndApplies(ReasonForced, forcedNow),
	},
	"a forced stack that was planned as it is rests": {
		settled().forced(), rests(nextDriftCheck),
	},
	"force does not shorten the wait after a failure": {
		settled().forced().failed(time.Second).with(func(f *Facts) { f.Stack.Generation = 2 }), waitsForRetry("12:00:14", noon.Add(14*time.Second)),
	},
	"force switched on in mode disable changes nothing": {
		settled().forced().disabled().with(func(f *Facts) { f.Stack.Generation = 2 }), rests(nextDriftCheck),
	},
	"nor does it for a stack that is only planned": {
		settled().forced().planOnly().with(func(f *Facts) { f.Stack.Generation = 2 }), rests(nextDriftCheck),
	},
	"a changed configuration is planned in manual mode": {
		settled().config(other), plans(ReasonConfigChanged, configChanged),
	},
	"a changed configuration is planned and applied in mode auto": {
		settled().auto().config(other), plansAndApplies(ReasonConfigChanged, configChanged),
	},
	"a changed configuration replaces a plan that waits": {
		awaiting("plan-main-1").config(other), plans(ReasonConfigChanged, configChanged),
	},
	"a commit beside modules that may move looks whether they have": {
		settled().config(other).movable(), plans(ReasonModulesMayMove, modulesMayHaveMoved),
	},
	"and applies what that brings in mode auto": {
		settled().auto().config(other).movable(), plansAndApplies(ReasonModulesMayMove, modulesMayHaveMoved),
	},
	"a changed object is planned whether they have moved or not": {
		settled().config(other).movable().with(func(f *Facts) { f.Stack.Generation = 2 }), plans(ReasonConfigChanged, configChanged),
	},
	"so is one with a plan that waits": {
		awaiting("plan-main-1").config(other).movable(), plans(ReasonConfigChanged, configChanged),
	},
	"so is one whose last run failed": {
		settled().failed(time.Second, ofOther).movable(), plans(ReasonConfigChanged, configChanged),
	},
	"so is one that is to be looked at in any case": {
		settled().config(other).movable().checkedForDrift(time.Hour), plans(ReasonConfigChanged, configChanged),
	},
	"a request plans whether modules have moved or not": {
		settled().config(other).movable().requested(), plans(ReasonRequested, wasRequested),
	},
	"destroy makes another configuration, whose plan destroys": {
		settled().toDestroy().config(other), plans(ReasonConfigChanged, configChanged).ofDestroy(),
	},
	"destroy in mode auto destroys": {
		settled().auto().toDestroy().config(other), plansAndApplies(ReasonConfigChanged, configChanged).ofDestroy(),
	},
	"a destroyed stack rests without looking for drift": {
		settled().toDestroy(), rests(time.Time{}),
	},
	"a stack without any run on record rests when its configuration was planned": {
		settled().with(func(f *Facts) { f.Last = nil }), rests(nextDriftCheck),
	},
	"a request looks for drift when nothing changed": {
		settled().requested(), plans(ReasonRequested, wasRequested).forDrift(),
	},
	"a request in mode auto repairs it": {
		settled().auto().requested(), plansAndApplies(ReasonRequested, wasRequested).forDrift(),
	},
	"a request of a stack that looks for no drift plans": {
		settled().ignoringDrift().requested(), plans(ReasonRequested, wasRequested),
	},
	"a request of a stack whose last plan counts no more plans": {
		settled().requested().with(func(f *Facts) { f.Stack.PlannedConfig = "" }), plans(ReasonRequested, wasRequested),
	},
	"a request that was served is over": {
		settled().with(func(f *Facts) { f.Stack.Requested, f.Stack.Handled = "first", "first" }), rests(nextDriftCheck),
	},
	"a request that was withdrawn is none": {
		settled().with(func(f *Facts) { f.Stack.Requested, f.Stack.Handled = "", "first" }), rests(nextDriftCheck),
	},
	"a request replans a plan that waits": {
		awaiting("plan-main-1").requested(), plans(ReasonRequested, wasRequested),
	},
	"a request is named before a changed configuration": {
		settled().requested().config(other), plans(ReasonRequested, wasRequested),
	},
	"a request looks again where a look for drift failed": {
		settled().failed(time.Second, lookingForDrift).requested(), plans(ReasonRequested, wasRequested).forDrift(),
	},
	"a request after a repair that failed half-way deploys": {
		settled().failed(time.Second, lookingForDrift, applyBegan).requested(), plans(ReasonRequested, wasRequested),
	},
	"a request does not wait for the retry interval": {
		settled().failed(time.Second).requested(), plans(ReasonRequested, wasRequested),
	},
	"a request is tried although retrying by itself is pointless": {
		settled().failed(time.Hour, pointless).requested(), plans(ReasonRequested, wasRequested),
	},
}
