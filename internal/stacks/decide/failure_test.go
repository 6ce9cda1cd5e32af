// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

const (
	lastFailed      = "The last run failed"
	lastInterrupted = "The last run was interrupted; planning again first"
	lastStopped     = "The last run was stopped before it changed anything"
	neverAgain      = "Configuration error; retrying after the next change to source or spec"
)

// waitsForRetry is the wait for a retry at a time like 15:04:05.
func waitsForRetry(clock string, next time.Time) Decision {
	return Decision{Verb: VerbWait, Reason: ReasonRetryPending, Message: "Retrying at " + clock + " UTC", NextCheck: next}
}

// Decisions after failed runs.
var failureScenarios = scenarios{
	"a failure waits for its interval": {
		settled().failed(afterFifteen - 1), waitsForRetry("12:00:00", noon.Add(1)),
	},
	"a failure is retried exactly when its interval ends": {
		settled().failed(afterFifteen), plans(ReasonRetry, lastFailed).again(),
	},
	"a failure in mode auto is planned and applied again": {
		settled().auto().failed(afterFifteen, applyBegan), plansAndApplies(ReasonRetry, lastFailed).again(),
	},
	"a failed first plan waits for its interval as well": {
		fresh().failed(time.Second), waitsForRetry("12:00:14", noon.Add(14*time.Second)),
	},
	"a failed first plan is retried": {
		fresh().failed(time.Minute), plans(ReasonRetry, lastFailed).again(),
	},
	"a failure with a count of zero waits for the plain interval": {
		settled().failed(time.Second, func(r *Run) { r.Failures = 0 }), waitsForRetry("12:00:14", noon.Add(14*time.Second)),
	},
	"without a maximum the interval does not grow": {
		settled().failed(time.Second, func(r *Run) { r.Failures = 50 }), waitsForRetry("12:00:14", noon.Add(14*time.Second)),
	},
	"with a maximum the interval doubles with each failure": {
		settled().failed(0, func(r *Run) { r.Failures = 3 }).with(func(f *Facts) { f.Stack.MaxRetryInterval = time.Hour }),
		waitsForRetry("12:02:00", noon.Add(2*time.Minute)),
	},
	"the interval grows up to its maximum": {
		settled().failed(0, func(r *Run) { r.Failures = 1000 }).with(func(f *Facts) { f.Stack.MaxRetryInterval = time.Hour }),
		waitsForRetry("13:00:00", noon.Add(time.Hour)),
	},
	"a maximum below the interval shortens it": {
		settled().failed(0, asIs).with(func(f *Facts) { f.Stack.MaxRetryInterval = 4 * time.Second }),
		waitsForRetry("12:00:04", noon.Add(4*time.Second)),
	},
	"a tiny maximum still waits a second": {
		settled().failed(0, asIs).with(func(f *Facts) { f.Stack.MaxRetryInterval = 1 }),
		waitsForRetry("12:00:01", noon.Add(time.Second)),
	},
	"a retry interval of zero still waits a second": {
		settled().failed(0).with(func(f *Facts) { f.Stack.RetryInterval = 0 }),
		waitsForRetry("12:00:01", noon.Add(time.Second)),
	},
	"a run that a person canceled is not retried automatically": {
		settled().failed(24*time.Hour, byPerson), Decision{Verb: VerbWait, Reason: ReasonRetryPending, Message: StoppedMessage},
	},
	"an apply that a person canceled is not retried automatically, however it ended": {
		settled().auto().failed(24*time.Hour, applyBegan, interrupted, byPerson), Decision{Verb: VerbWait, Reason: ReasonRetryPending, Message: StoppedMessage},
	},
	"a reconcile request starts a canceled run again": {
		settled().failed(time.Second, byPerson).requested(), plans(ReasonRequested, "Reconciliation was requested"),
	},
	"a new configuration is planned although a person canceled the previous one": {
		settled().failed(time.Second, byPerson, ofOther), plans(ReasonConfigChanged, "The configuration changed"),
	},
	"a failure that needs a change waits for it": {
		settled().failed(24*time.Hour, pointless), Decision{Verb: VerbWait, Reason: ReasonRetryPending, Message: neverAgain},
	},
	"a failed first plan that needs a change waits for it": {
		fresh().failed(24*time.Hour, pointless), Decision{Verb: VerbWait, Reason: ReasonRetryPending, Message: neverAgain},
	},
	"a changed configuration does not wait for the retry": {
		settled().failed(time.Second).config(other), plans(ReasonConfigChanged, configChanged),
	},
	"a changed configuration ends a pointless wait": {
		settled().failed(time.Second, pointless).config(other), plans(ReasonConfigChanged, configChanged),
	},
	"a new stack whose configuration changed after a failure is planned at once": {
		fresh().failed(time.Second).config(other), plans(ReasonFirstPlan, firstPlan),
	},
	"a configuration that comes back after a failure of another is planned again": {
		settled().failed(time.Second, ofOther), plans(ReasonConfigChanged, configChanged),
	},
	"a configuration that comes back after a half-done apply of another is applied again": {
		settled().auto().failed(time.Second, ofOther, applyBegan), plansAndApplies(ReasonConfigChanged, configChanged),
	},
	"a configuration that comes back after an interrupted run of another is planned again": {
		settled().failed(time.Second, ofOther, interrupted), plans(ReasonConfigChanged, configChanged),
	},
	"a configuration that comes back after a stopped run of another is planned again": {
		settled().failed(time.Second, ofOther, stopped), plans(ReasonConfigChanged, configChanged),
	},
	"an interrupted run waits for the interval": {
		settled().failed(time.Second, interrupted), waitsForRetry("12:00:14", noon.Add(14*time.Second)),
	},
	"an interrupted run is followed by a fresh plan": {
		settled().failed(afterFifteen, interrupted, applyBegan), plans(ReasonInterrupted, lastInterrupted).again(),
	},
	"an interruption says nothing about the configuration, so the run is always repeated": {
		settled().failed(time.Second, interrupted, pointless), waitsForRetry("12:00:14", noon.Add(14*time.Second)),
	},
	"an interrupted run of a wrong configuration is repeated when its interval ends": {
		settled().failed(afterFifteen, interrupted, pointless), plans(ReasonInterrupted, lastInterrupted).again(),
	},
	"an interrupted run in mode auto is planned and applied again": {
		settled().auto().failed(afterFifteen, interrupted), plansAndApplies(ReasonInterrupted, lastInterrupted).again(),
	},
	"a stopped run of the current configuration is repeated at once": {
		settled().failed(0, stopped), plans(ReasonRetry, lastStopped),
	},
	"an approved plan whose run was stopped before it began is applied": {
		awaiting("plan-main-1").approving("plan-main-1").failed(0, stopped, applying), applies("plan-main-1"),
	},
	"a failed drift check does not void the plan: it can be approved": {
		awaiting("plan-main-1").approving("plan-main-1").failed(time.Second, lookingForDrift), applies("plan-main-1"),
	},
	"a failed drift check does not void the plan: it waits until the retry": {
		awaiting("plan-main-1").failed(time.Second, lookingForDrift),
		awaitsApproval("plan-main-1", setApprove, noon.Add(14*time.Second)),
	},
	"a failed replan does not void the plan: it waits indefinitely when retrying is pointless": {
		awaiting("plan-main-1").failed(time.Second, pointless), awaitsApproval("plan-main-1", setApprove, time.Time{}),
	},
	"a failed replan is retried": {
		awaiting("plan-main-1").failed(afterFifteen), plans(ReasonRetry, lastFailed).again(),
	},
	"after a failed apply the same plan is not applied again, approved or not": {
		awaiting("plan-main-1").approving("plan-main-1").failed(time.Second, applyBegan),
		waitsForRetry("12:00:14", noon.Add(14*time.Second)),
	},
	"an apply that failed before it began is followed by a fresh plan, too": {
		awaiting("plan-main-1").approving("plan-main-1").failed(afterFifteen, applying), plans(ReasonRetry, lastFailed).again(),
	},
	"after an interrupted apply nothing is applied before a fresh plan": {
		awaiting("plan-main-1").approving("plan-main-1").failed(afterFifteen, interrupted, applyBegan),
		plans(ReasonInterrupted, lastInterrupted).again(),
	},
	"after a failed apply in manual mode the new plan waits for its own approval": {
		awaiting("plan-main-1-2").approving("plan-main-1"),
		awaitsApproval("plan-main-1-2", `Plan generated: set approvePlan: "plan-main-1-2" to approve this plan.`+
			` (approvePlan names "plan-main-1", which is not pending.)`, nextDriftCheck),
	},
	"after a failed apply that dropped its plan a new one is made when the interval ends": {
		settled().approving("plan-main-1").failed(afterFifteen, applyBegan), plans(ReasonRetry, lastFailed).again(),
	},
	"a stale plan is not offered while its replacement waits for a retry": {
		awaiting("plan-main-1").failed(time.Second).with(func(f *Facts) { f.StateSerial = 8 }),
		waitsForRetry("12:00:14", noon.Add(14*time.Second)),
	},
	"a stale plan is not applied while its replacement waits for a retry": {
		awaiting("plan-main-1").auto().failed(time.Second).with(func(f *Facts) { f.StateSerial = 8 }),
		waitsForRetry("12:00:14", noon.Add(14*time.Second)),
	},
}
