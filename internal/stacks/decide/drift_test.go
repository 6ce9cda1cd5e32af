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
	"drift is looked for exactly when its interval is over": {
		settled().checkedForDrift(everyTenMinutes), plans(ReasonDriftDue, comparing).forDrift(),
	},
	"drift is not looked for a moment earlier": {
		settled().checkedForDrift(everyTenMinutes - 1), rests(noon.Add(1)),
	},
	"a check that is long overdue is made once, now": {
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
	"disable looks for drift and repairs nothing": {
		settled().disabled().checkedForDrift(time.Hour), plans(ReasonDriftDue, comparing).forDrift(),
	},
	"disable repairs nothing of a forced stack": {
		settled().disabled().forced().checkedForDrift(time.Hour), plans(ReasonDriftDue, comparing).forDrift(),
	},
	"plan-only looks for drift and repairs nothing": {
		settled().auto().planOnly().checkedForDrift(time.Hour), plans(ReasonDriftDue, comparing).forDrift(),
	},
	"without drift detection the world is never looked at": {
		settled().ignoringDrift().checkedForDrift(time.Hour), rests(time.Time{}),
	},
	"a forced stack is planned on its interval even without drift detection": {
		settled().forced().ignoringDrift().checkedForDrift(time.Hour), plansAndApplies(ReasonDriftDue, byForce),
	},
	"a forced stack in mode disable is not planned without drift detection": {
		settled().forced().disabled().ignoringDrift().checkedForDrift(time.Hour), rests(time.Time{}),
	},
	"an interval of zero looks for nothing": {
		settled().checkedForDrift(time.Hour).with(func(f *Facts) { f.Stack.Interval = 0 }), rests(time.Time{}),
	},
	"a stack that was destroyed has nothing to drift": {
		settled().toDestroy().checkedForDrift(time.Hour), rests(time.Time{}),
	},
	"a stack whose last look at the world is unknown is looked at now": {
		settled().with(func(f *Facts) { f.LastDriftCheck = time.Time{} }), plans(ReasonDriftDue, comparing).forDrift(),
	},
	"a plan that waits is made again on the interval, and that is not about drift": {
		awaiting("plan-main-1").checkedForDrift(time.Hour), plans(ReasonDriftDue, comparing),
	},
	"a plan against drift that waits is made again on the interval, still about drift": {
		awaiting("plan-main-1").checkedForDrift(time.Hour).with(func(f *Facts) { f.Pending.Drift = true }),
		plans(ReasonDriftDue, comparing).forDrift(),
	},
	"a rejected plan against drift is looked at again on the interval": {
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
	"a failed look for drift is made up for by another": {
		settled().checkedForDrift(time.Hour).failed(afterFifteen, lookingForDrift), plans(ReasonRetry, lastFailed).forDrift().again(),
	},
	"a repair that failed half-way is deployed anew": {
		settled().auto().checkedForDrift(time.Hour).failed(afterFifteen, lookingForDrift, applyBegan), plansAndApplies(ReasonRetry, lastFailed).again(),
	},
	"no drift check is made while retrying is pointless": {
		settled().checkedForDrift(time.Hour).failed(time.Hour, pointless),
		Decision{Verb: VerbWait, Reason: ReasonRetryPending, Message: "Configuration error; retrying after the next change to source or spec"},
	},
}
