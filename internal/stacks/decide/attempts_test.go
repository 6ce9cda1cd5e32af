// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

const anew = "The stack or its source has changed since all attempts failed"

var standsStill = Decision{Verb: VerbWait, Reason: ReasonRetryLimit, Message: "Resource reached maximum number of retries."}

// times sets the number of failed runs in a row.
func times(n int) func(*Run) { return func(r *Run) { r.Failures = n } }

// Used up attempts, and changes that reset the count.
var attemptScenarios = scenarios{
	"no retries: the first failure is the last": {
		settled().allowing(1).failed(time.Hour), standsStill,
	},
	"attempts are left": {
		settled().allowing(3).failed(time.Hour, times(2)), plans(ReasonRetry, lastFailed).again(),
	},
	"attempts are used up": {
		settled().allowing(3).failed(time.Hour, times(3)), standsStill,
	},
	"an interruption counts, too": {
		settled().allowing(1).failed(time.Hour, interrupted, applyBegan), standsStill,
	},
	"attempts without end": {
		settled().allowing(0).failed(time.Hour, times(1000)), plans(ReasonRetry, lastFailed).again(),
	},
	"another generation of the object begins them anew, at once": {
		settled().allowing(1).failed(0, func(r *Run) { r.Generation = 7 }), plans(ReasonRetry, anew),
	},
	"another revision of the source begins them anew, even with the same content": {
		settled().allowing(1).failed(0, func(r *Run) { r.Revision = oldRevision }), plans(ReasonRetry, anew),
	},
	"the same generation and revision do not": {
		settled().allowing(1).failed(time.Hour, func(r *Run) { r.Generation, r.Revision = 1, newRevision }), standsStill,
	},
	"a request begins them anew": {
		settled().allowing(1).failed(time.Hour).requested(), plans(ReasonRequested, "Reconciliation was requested"),
	},
	"a changed configuration begins them anew": {
		settled().allowing(1).failed(time.Hour).config(other), plans(ReasonConfigChanged, configChanged),
	},
	"a failure before a change is not held against the attempt after it": {
		settled().allowing(3).failed(time.Hour, func(r *Run) { r.Generation = 7 }), plans(ReasonRetry, lastFailed),
	},
	"drift is not looked for": {
		settled().allowing(1).failed(time.Hour).checkedForDrift(24 * time.Hour), standsStill,
	},
	"a plan that still fits can be approved": {
		awaiting("plan-main-1").allowing(1).failed(time.Hour), awaitsApproval("plan-main-1", setApprove, time.Time{}),
	},
	"what time does not mend is tried as often as the stack says": {
		settled().allowing(3).failed(time.Hour, times(2), pointless), plans(ReasonRetry, lastFailed).again(),
	},
	"and then no more": {
		settled().allowing(3).failed(time.Hour, times(3), pointless), standsStill,
	},
	"inputs that were missing since and came back begin them anew": {
		settled().allowing(1).failed(time.Hour).refused(2, time.Minute), plans(ReasonRetry, lastFailed).again(),
	},
	"a deletion never gives up": {
		settled().deleted().allowing(1).failed(time.Hour, destroying, applyBegan), destroys().again(),
	},
}

// Breaking locks.
var unlockScenarios = scenarios{
	"the lock that the stack names is broken": {
		settled().lockedBy("lock-1").breaking("lock-1"), unlocks("lock-1"),
	},
	"another lock is not": {
		settled().lockedBy("lock-1").breaking("lock-2"), isLocked,
	},
	"any lock is broken when the stack says so": {
		settled().lockedBy("lock-1").breakingAny(), unlocks("lock-1"),
	},
	"the lock of a run in progress is not, whatever the stack says": {
		settled().lockedBy("lock-1").breakingAny().breaking("lock-1").with(func(f *Facts) { f.Lock.Alive = true }), isLocked,
	},
	"the lock of a run of this stack that is over is released by itself": {
		settled().lockedBy("lock-1").with(func(f *Facts) { f.Lock.Over = true }),
		Decision{Verb: VerbUnlock, Subject: "lock-1", Reason: ReasonLockOrphaned, Message: "Releasing the lock of run lock-1, which has ended"},
	},
	"a suspended stack breaks none": {
		settled().lockedBy("lock-1").breakingAny().suspended(), isSuspended,
	},
	"a deletion breaks what the stack names": {
		settled().deleted().lockedBy("lock-1").breaking("lock-1"), unlocks("lock-1"),
	},
	"the lock of an own backend may be broken by now: no wait for the next attempt": {
		settled().ownBackend().breaking("lock-1").failed(0, func(r *Run) { r.Lock, r.Generation = "lock-1", 7 }),
		plans(ReasonForceUnlock, "The lock that blocked the last run may now be broken"),
	},
	"a lock of an own backend that may be broken already is tried again in time": {
		settled().ownBackend().breakingAny().failed(time.Second, func(r *Run) { r.Lock, r.Generation = "lock-1", 1 }),
		waitsForRetry("12:00:14", noon.Add(14*time.Second)),
	},
	"a lock of an own backend that is not the one named is waited for": {
		settled().ownBackend().breaking("lock-2").failed(time.Second, func(r *Run) { r.Lock, r.Generation = "lock-1", 7 }),
		waitsForRetry("12:00:14", noon.Add(14*time.Second)),
	},
}

func unlocks(id string) Decision {
	return Decision{Verb: VerbUnlock, Subject: id, Reason: ReasonForceUnlock, Message: "Terraform Force Unlock with Lock Identifier: " + id}
}

var isHeld = Decision{Verb: VerbWait, Reason: ReasonBreakTheGlass,
	Message: "Held for manual work (breakTheGlass): no runs start. Open a shell with `yuba shell vpc -n team`"}

// Manual work.
var heldScenarios = scenarios{
	"nothing runs while a person works manually":      {fresh().auto().held(), isHeld},
	"an approved plan is not applied":                 {awaiting("plan-main-1").approving("plan-main-1").held(), isHeld},
	"nor is a request served":                         {settled().held().requested(), isHeld},
	"a run in progress is awaited, such as the shell": {settled().held().running(applying), awaitsRun("Applying")},
	"suspension is told first":                        {settled().held().suspended(), isSuspended},
	"nothing is destroyed meanwhile":                  {settled().deleted().held(), isHeld},
	"a stack that keeps its resources may go":         {settled().keepingResources().held(), keepsResources},
	"no lock is broken":                               {settled().held().lockedBy("lock-1").breakingAny(), isHeld},
}

// approvePlan: replan.
var replanScenarios = scenarios{
	"a pending plan does not outlive its revision with replan, whatever the new one contains": {
		awaiting("plan-main-1").replanning(oldRevision), plans(ReasonReplan, "The source has a new revision, and approvePlan asks for a new plan"),
	},
	"of the same revision it waits": {
		awaiting("plan-main-1").replanning(newRevision), awaitsApproval("plan-main-1", setApprove, nextDriftCheck),
	},
	"without a pending plan there is nothing to plan anew": {
		settled().replanning(oldRevision), rests(nextDriftCheck),
	},
}

func (g *given) replanning(planned string) *given {
	g.facts.Stack.ReplanOnRevision, g.facts.Stack.PlannedRevision = true, planned
	return g
}
