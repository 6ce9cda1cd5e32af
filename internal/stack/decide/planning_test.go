// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

const (
	firstPlan     = "The stack has not been planned yet"
	configChanged = "The configuration changed"
	wasRequested  = "Reconciliation was requested"
)

// Reasons to plan, and what each mode makes of them.
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
	"a changed configuration is planned in manual mode": {
		settled().config(other), plans(ReasonConfigChanged, configChanged),
	},
	"a changed configuration is planned and applied in mode auto": {
		settled().auto().config(other), plansAndApplies(ReasonConfigChanged, configChanged),
	},
	"a changed configuration replaces a plan that waits": {
		awaiting("plan-main-1").config(other), plans(ReasonConfigChanged, configChanged),
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
	"a request plans although nothing changed": {
		settled().requested(), plans(ReasonRequested, wasRequested),
	},
	"a request in mode auto plans and applies": {
		settled().auto().requested(), plansAndApplies(ReasonRequested, wasRequested),
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
	"a request does not wait for the retry interval": {
		settled().failed(time.Second).requested(), plans(ReasonRequested, wasRequested),
	},
	"a request is tried although retrying by itself is pointless": {
		settled().failed(time.Hour, pointless).requested(), plans(ReasonRequested, wasRequested),
	},
}
