// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

const (
	comparing = "Checking for drift"
	byForce   = "Planning and applying on the interval (spec.force)"
)

// Drift checks, and their results in each mode.
var driftScenarios = scenarios{
	"drift detection runs exactly when its interval ends": {
		settled().checkedForDrift(everyTenMinutes), plans(ReasonDriftDue, comparing).forDrift(),
	},
	"drift detection does not run a moment earlier": {
		settled().checkedForDrift(everyTenMinutes - 1), rests(noon.Add(1)),
	},
	"an overdue drift check runs once, now": {
		settled().checkedForDrift(30 * 24 * time.Hour), plans(ReasonDriftDue, comparing).forDrift(),
	},
	"drift while approval is manual: plan, do not apply": {
		settled().checkedForDrift(time.Hour), plans(ReasonDriftDue, comparing).forDrift(),
	},
	"drift in mode auto is repaired": {
		settled().auto().checkedForDrift(time.Hour), plansAndApplies(ReasonDriftDue, comparing).forDrift(),
	},
	"drift of a forced stack is repaired": {
		settled().forced().checkedForDrift(time.Hour), plansAndApplies(ReasonDriftDue, byForce).forDrift(),
	},
	"mode disable detects drift and repairs nothing": {
		settled().disabled().checkedForDrift(time.Hour), plans(ReasonDriftDue, comparing).forDrift(),
	},
	"mode disable repairs nothing of a forced stack": {
		settled().disabled().forced().checkedForDrift(time.Hour), plans(ReasonDriftDue, comparing).forDrift(),
	},
	"plan-only detects drift and repairs nothing": {
		settled().auto().planOnly().checkedForDrift(time.Hour), plans(ReasonDriftDue, comparing).forDrift(),
	},
	"without drift detection a settled stack is never planned": {
		settled().ignoringDrift().checkedForDrift(time.Hour), rests(time.Time{}),
	},
	"a forced stack is planned on its interval even without drift detection": {
		settled().forced().ignoringDrift().checkedForDrift(time.Hour), plansAndApplies(ReasonDriftDue, byForce),
	},
	"a forced stack in mode disable is not planned without drift detection": {
		settled().forced().disabled().ignoringDrift().checkedForDrift(time.Hour), rests(time.Time{}),
	},
	"an interval of zero disables drift detection": {
		settled().checkedForDrift(time.Hour).with(func(f *Facts) { f.Stack.Interval = 0 }), rests(time.Time{}),
	},
	"a destroyed stack has no drift detection": {
		settled().toDestroy().checkedForDrift(time.Hour), rests(time.Time{}),
	},
	"a stack whose last drift check is unknown is checked now": {
		settled().with(func(f *Facts) { f.LastDriftCheck = time.Time{} }), plans(ReasonDriftDue, comparing).forDrift(),
	},
	"a pending plan is made again on the interval, but not as drift detection": {
		awaiting("plan-main-1").checkedForDrift(time.Hour), plans(ReasonDriftDue, comparing),
	},
	"a pending plan against drift is made again on the interval, as drift detection": {
		awaiting("plan-main-1").checkedForDrift(time.Hour).with(func(f *Facts) { f.Pending.Drift = true }),
		plans(ReasonDriftDue, comparing).forDrift(),
	},
	"a rejected plan against drift is made again on the interval": {
		awaiting("plan-main-1").rejecting("plan-main-1").checkedForDrift(time.Hour).
			with(func(f *Facts) { f.Pending.Drift = true }),
		plans(ReasonDriftDue, comparing).forDrift(),
	},
	"a changed configuration is the reason, even when a check is due": {
		settled().config(other).checkedForDrift(time.Hour), plans(ReasonConfigChanged, configChanged),
	},
	"a failure is waited for before the next drift check": {
		settled().checkedForDrift(time.Hour).failed(time.Second, lookingForDrift),
		Decision{Verb: VerbWait, Reason: ReasonRetryPending, Message: "Retrying at 12:00:14 UTC",
			NextCheck: noon.Add(14 * time.Second)},
	},
	"a failed drift check is repeated": {
		settled().checkedForDrift(time.Hour).failed(afterFifteen, lookingForDrift), plans(ReasonRetry, lastFailed).forDrift().again(),
	},
	"a repair that failed half-way is deployed again": {
		settled().auto().checkedForDrift(time.Hour).failed(afterFifteen, lookingForDrift, applyBegan), plansAndApplies(ReasonRetry, lastFailed).again(),
	},
	"no drift check runs while retrying is pointless": {
		settled().checkedForDrift(time.Hour).failed(time.Hour, pointless),
		Decision{Verb: VerbWait, Reason: ReasonRetryPending, Message: "Configuration error; retrying after the next change to source or spec"},
	},
}
