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
	"no retries: the first failure stalls the stack": {
		settled().allowing(1).failed(time.Hour), standsStill,
	},
	"attempts are left": {
		settled().allowing(3).failed(time.Hour, times(2)), plans(ReasonRetry, lastFailed).again(),
	},
	"attempts are used up": {
		settled().allowing(3).failed(time.Hour, times(3)), standsStill,
	},
	"an interruption counts as an attempt": {
		settled().allowing(1).failed(time.Hour, interrupted, applyBegan), standsStill,
	},
	"unlimited attempts": {
		settled().allowing(0).failed(time.Hour, times(1000)), plans(ReasonRetry, lastFailed).again(),
	},
	"a new generation of the object resets the attempts and is planned at once": {
		settled().allowing(1).failed(0, func(r *Run) { r.Generation = 7 }), plans(ReasonRetry, anew),
	},
	"a new revision of the source resets the attempts, even with the same content": {
		settled().allowing(1).failed(0, func(r *Run) { r.Revision = oldRevision }), plans(ReasonRetry, anew),
	},
	"the same generation and revision do not reset the attempts": {
		settled().allowing(1).failed(time.Hour, func(r *Run) { r.Generation, r.Revision = 1, newRevision }), standsStill,
	},
	"a reconcile request resets the attempts": {
		settled().allowing(1).failed(time.Hour).requested(), plans(ReasonRequested, "Reconciliation was requested"),
	},
	"a changed configuration resets the attempts": {
		settled().allowing(1).failed(time.Hour).config(other), plans(ReasonConfigChanged, configChanged),
	},
	"a failure before a change does not count after it": {
		settled().allowing(3).failed(time.Hour, func(r *Run) { r.Generation = 7 }), plans(ReasonRetry, lastFailed),
	},
	"there is no drift detection after the last attempt": {
		settled().allowing(1).failed(time.Hour).checkedForDrift(24 * time.Hour), standsStill,
	},
	"a plan that is not stale can be approved": {
		awaiting("plan-main-1").allowing(1).failed(time.Hour), awaitsApproval("plan-main-1", setApprove, time.Time{}),
	},
	"a failure that needs a change is retried up to the stack's limit": {
		settled().allowing(3).failed(time.Hour, times(2), pointless), plans(ReasonRetry, lastFailed).again(),
	},
	"a failure that needs a change is not retried beyond the limit": {
		settled().allowing(3).failed(time.Hour, times(3), pointless), standsStill,
	},
	"inputs that were missing in between reset the attempts": {
		settled().allowing(1).failed(time.Hour).refused(2, time.Minute), plans(ReasonRetry, lastFailed).again(),
	},
	"a deletion never gives up": {
		settled().deleted().allowing(1).failed(time.Hour, destroying, applyBegan), destroys().again(),
	},
}

// Breaking locks.
var unlockScenarios = scenarios{
	"the lock that the stack names is force-unlocked": {
		settled().lockedBy("lock-1").breaking("lock-1"), unlocks("lock-1"),
	},
	"another lock is not force-unlocked": {
		settled().lockedBy("lock-1").breaking("lock-2"), isLocked,
	},
	"any lock is force-unlocked when the stack permits it": {
		settled().lockedBy("lock-1").breakingAny(), unlocks("lock-1"),
	},
	"the lock of a run in progress is never force-unlocked": {
		settled().lockedBy("lock-1").breakingAny().breaking("lock-1").with(func(f *Facts) { f.Lock.Alive = true }), isLocked,
	},
	"the lock of an ended run of this stack is released automatically": {
		settled().lockedBy("lock-1").with(func(f *Facts) { f.Lock.Over = true }),
		Decision{Verb: VerbUnlock, Subject: "lock-1", Reason: ReasonLockOrphaned, Message: "Releasing the lock of run lock-1, which has ended"},
	},
	"a suspended stack does not force-unlock": {
		settled().lockedBy("lock-1").breakingAny().suspended(), isSuspended,
	},
	"a deletion force-unlocks the lock that the stack names": {
		settled().deleted().lockedBy("lock-1").breaking("lock-1"), unlocks("lock-1"),
	},
	"once force-unlock is allowed for a custom backend's lock, the next attempt begins at once": {
		settled().ownBackend().breaking("lock-1").failed(0, func(r *Run) { r.Lock, r.Generation = "lock-1", 7 }),
		plans(ReasonForceUnlock, "The lock that blocked the last run may now be broken"),
	},
	"if force-unlock was allowed before the last run, a custom backend's lock waits for the retry": {
		settled().ownBackend().breakingAny().failed(time.Second, func(r *Run) { r.Lock, r.Generation = "lock-1", 1 }),
		waitsForRetry("12:00:14", noon.Add(14*time.Second)),
	},
	"a custom backend's lock that the stack does not name is waited for": {
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
	"a reconcile request is not handled":              {settled().held().requested(), isHeld},
	"a run in progress, such as a shell, is awaited":  {settled().held().running(applying), awaitsRun("Applying")},
	"suspension is reported first":                    {settled().held().suspended(), isSuspended},
	"nothing is destroyed":                            {settled().deleted().held(), isHeld},
	"a stack that keeps its resources can be deleted": {settled().keepingResources().held(), keepsResources},
	"no lock is force-unlocked":                       {settled().held().lockedBy("lock-1").breakingAny(), isHeld},
}

// approvePlan: replan.
var replanScenarios = scenarios{
	"with replan a new revision replaces a pending plan, whatever it contains": {
		awaiting("plan-main-1").replanning(oldRevision), plans(ReasonReplan, "The source has a new revision, and approvePlan asks for a new plan"),
	},
	"with replan a pending plan of the same revision waits": {
		awaiting("plan-main-1").replanning(newRevision), awaitsApproval("plan-main-1", setApprove, nextDriftCheck),
	},
	"with replan a new revision without a pending plan changes nothing": {
		settled().replanning(oldRevision), rests(nextDriftCheck),
	},
}

func (g *given) replanning(planned string) *given {
	g.facts.Stack.ReplanOnRevision, g.facts.Stack.PlannedRevision = true, planned
	return g
}
