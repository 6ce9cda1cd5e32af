// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

var (
	keepsResources = Decision{Verb: VerbRelease, Reason: ReasonDeleted, Message: "Resources are kept"}
	neverApplied   = Decision{Verb: VerbRelease, Reason: ReasonNothingLeftToDelete, Message: "Nothing was ever applied"}
	destroyedAll   = Decision{Verb: VerbRelease, Reason: ReasonDeleted, Message: "Destroy applied successfully"}

	deletionIsSuspended = Decision{Verb: VerbWait, Reason: ReasonSuspended,
		Message: "Deletion is suspended by spec.suspend. To go on: yuba resume vpc -n team"}
)

func cannotDestroy(reason, problem string) Decision {
	return fails(reason, "Cannot destroy: "+problem+". The source and inputs of the last apply are gone, too. "+
		"Restore the source, or set destroyResourcesOnDeletion: false to delete the object and keep its resources")
}

// keepingResources: the object is being deleted, and its resources stay.
func (g *given) keepingResources() *given {
	g.deleted().facts.Stack.DestroyOnDeletion = false
	return g
}

func (g *given) nothingKept() *given {
	g.facts.Kept = false
	return g
}

// Deletions of objects, with and without their resources.
var deletionScenarios = scenarios{
	"without destroy the object is removed and its resources are kept": {
		settled().keepingResources(), keepsResources,
	},
	"without destroy neither source, inputs, state nor lock block the deletion": {
		settled().keepingResources().sourceGone().inputsGone().nothingKept().stateProblem("The state vanished").
			lockedBy("lock-1"),
		keepsResources,
	},
	"without destroy suspension blocks the deletion": {
		settled().keepingResources().suspended(), deletionIsSuspended,
	},
	"without destroy an apply in progress is awaited": {
		settled().keepingResources().running(applying), awaitsRun("Deletion in progress"),
	},
	"a stack that was never applied is removed at once": {
		fresh().deleted(), neverApplied,
	},
	"a stack that was never applied is removed although its source is missing": {
		fresh().deleted().sourceGone(), neverApplied,
	},
	"a suspended stack that was never applied is not removed": {
		fresh().deleted().suspended(), deletionIsSuspended,
	},
	"a suspended stack that others depend on reports the suspension first": {
		settled().deleted().suspended().with(func(f *Facts) { f.Dependants = []string{"app"} }), deletionIsSuspended,
	},
	"a stack whose only plan was never approved is removed at once": {
		fresh().deleted().with(func(f *Facts) { f.Pending = &Plan{ID: "plan-main-1", Config: present, Usable: true} }), neverApplied,
	},
	"a stack that adopted a state is destroyed although it never applied anything": {
		fresh().deleted().with(func(f *Facts) { f.StateExists = true }), destroys(),
	},
	"a stack that cannot read its state does not count as never applied": {
		fresh().deleted().stateProblem("The state is no JSON"), fails(ReasonStateUnreadable, "The state is no JSON"),
	},
	"a custom backend may contain resources that others applied, so it is destroyed": {
		fresh().ownBackend().deleted(), destroys(),
	},
	"with a custom backend, a stack that was never applied and has no inputs left is removed": {
		fresh().ownBackend().deleted().sourceGone(), neverApplied,
	},
	"with a custom backend, an applied stack without inputs or kept ones is not removed": {
		settled().ownBackend().deleted().sourceGone().nothingKept(),
		cannotDestroy(ReasonArtifactFailed, "could not get Source object: it is gone"),
	},
	"with a custom backend, an applied stack is destroyed with the kept inputs": {
		settled().ownBackend().deleted().sourceGone(), destroys().withKept(),
	},
	"an applied stack is destroyed with its current source": {
		settled().deleted(), destroys(),
	},
	"a destroy needs no approval, and plan-only and disable do not prevent it": {
		settled().disabled().planOnly().deleted(), destroys(),
	},
	"a pending plan no longer matters": {
		awaiting("plan-main-1").approving("plan-main-1").deleted(), destroys(),
	},
	"a failure before the deletion is not waited for": {
		settled().failed(time.Second, pointless).deleted(), destroys(),
	},
	"a missing source is replaced by the kept one": {
		settled().deleted().sourceGone(), destroys().withKept(),
	},
	"a missing Secret with variables is replaced by the kept values": {
		settled().deleted().inputsGone(), destroys().withKept(),
	},
	"a deletion without a source or kept inputs reports that": {
		settled().deleted().sourceGone().nothingKept(),
		cannotDestroy(ReasonArtifactFailed, "could not get Source object: it is gone"),
	},
	"a deletion without inputs or kept ones reports that": {
		settled().deleted().inputsGone().nothingKept(), cannotDestroy("InputsMissing", "Secret vpc-credentials is missing"),
	},
	"missing inputs without a reason are reported as failed variables": {
		settled().deleted().inputsGone().nothingKept().with(func(f *Facts) { f.Inputs.Reason = "" }),
		cannotDestroy(ReasonVarsGeneration, "Secret vpc-credentials is missing"),
	},
	"a lock is waited for": {
		settled().deleted().lockedBy("lock-1"), isLocked,
	},
	"an unusable state blocks the destroy": {
		settled().deleted().stateProblem("The state vanished"), fails(ReasonStateUnreadable, "The state vanished"),
	},
	"a suspended stack is not destroyed": {
		settled().deleted().suspended(),
		deletionIsSuspended,
	},
	"a plan in progress is stopped": {
		settled().deleted().running(lookingForDrift),
		Decision{Verb: VerbCancel, Subject: "run-2", Reason: ReasonDeleting, Message: "The stack is being deleted"},
	},
	"a plan in progress is stopped once": {
		settled().deleted().running(toStop), awaitsRun("Deletion in progress"),
	},
	"an apply in progress is awaited": {
		settled().deleted().running(applying), awaitsRun("Deletion in progress"),
	},
	"a destroy in progress is awaited although the configuration changes": {
		settled().deleted().running(destroying).config(other), awaitsRun("Deletion in progress"),
	},
	"after the destroy the object is removed": {
		settled().deleted().failed(0, destroying, func(r *Run) { r.Failed = false }), destroyedAll,
	},
	"after the destroy the object is removed even if it is suspended, locked and without a source": {
		settled().deleted().sourceGone().suspended().lockedBy("lock-1").failed(0, destroying, func(r *Run) { r.Failed = false }),
		destroyedAll,
	},
	"a destroy that was stopped before it began does not count": {
		settled().deleted().failed(0, stopped, destroying), destroys(),
	},
}

func waitsToDestroy(next time.Time) Decision {
	return Decision{Verb: VerbWait, Reason: ReasonRetryPending, Message: "Destroy failed; retrying", NextCheck: next}
}

// Decisions after a failed destroy.
var failedDeletionScenarios = scenarios{
	"a failure before anything was destroyed is retried at once with the kept inputs": {
		settled().deleted().failed(0, destroying), destroys().again().withKept(),
	},
	"a source that disappears after the failure does not change that": {
		settled().deleted().failed(0, destroying).sourceGone(), destroys().again().withKept(),
	},
	"a failure in the middle of a destroy is not the source's fault: it waits": {
		settled().deleted().failed(time.Second, destroying, applyBegan), waitsToDestroy(noon.Add(14 * time.Second)),
	},
	"a failure in the middle of a destroy is retried with the same source": {
		settled().deleted().failed(afterFifteen, destroying, applyBegan), destroys().again(),
	},
	"a failure without kept inputs waits": {
		settled().deleted().nothingKept().failed(afterFifteen-1, destroying), waitsToDestroy(noon.Add(1)),
	},
	"a failure without kept inputs is retried exactly when its interval ends": {
		settled().deleted().nothingKept().failed(afterFifteen, destroying), destroys().again(),
	},
	"a failure with the kept inputs waits": {
		settled().deleted().failed(time.Second, destroying, withKept), waitsToDestroy(noon.Add(14 * time.Second)),
	},
	"a failure with the kept inputs is retried with the current source": {
		settled().deleted().failed(afterFifteen, destroying, withKept), destroys().again(),
	},
	"a failure with the kept inputs is retried with them when there is nothing else": {
		settled().deleted().sourceGone().failed(afterFifteen, destroying, withKept), destroys().again().withKept(),
	},
	"a failure with the kept inputs waits when there is nothing else": {
		settled().deleted().sourceGone().failed(time.Second, destroying, withKept), waitsToDestroy(noon.Add(14 * time.Second)),
	},
	"a destroy is retried even when retrying looks pointless": {
		settled().deleted().nothingKept().failed(afterFifteen, destroying, pointless), destroys().again(),
	},
	"an interrupted destroy waits for the interval": {
		settled().deleted().failed(time.Second, interrupted, destroying), waitsToDestroy(noon.Add(14 * time.Second)),
	},
	"an interrupted destroy is repeated with the current source": {
		settled().deleted().failed(afterFifteen, interrupted, destroying), destroys().again(),
	},
	"without source and kept inputs the message does not promise a retry": {
		settled().deleted().sourceGone().nothingKept().failed(time.Second, destroying),
		cannotDestroy(ReasonArtifactFailed, "could not get Source object: it is gone"),
	},
	"the retry interval grows up to the maximum": {
		settled().deleted().nothingKept().failed(0, destroying, func(r *Run) { r.Failures = 2 }).
			with(func(f *Facts) { f.Stack.MaxRetryInterval = time.Hour }),
		waitsToDestroy(noon.Add(time.Minute)),
	},
	"a fixed configuration is tried at once": {
		settled().deleted().nothingKept().config(other).failed(time.Second, destroying), destroys().again(),
	},
	"a fixed configuration is tried before the kept inputs": {
		settled().deleted().config(other).failed(time.Second, destroying), destroys().again(),
	},
	"a fixed configuration waits after an attempt with the kept inputs": {
		settled().deleted().config(other).failed(time.Second, destroying, withKept), waitsToDestroy(noon.Add(14 * time.Second)),
	},
	"a reconcile request does not wait": {
		settled().deleted().requested().failed(time.Second, destroying, withKept), destroys().again(),
	},
	"a failed destroy of a suspended stack waits for it to be resumed": {
		settled().deleted().suspended().failed(time.Hour, destroying),
		deletionIsSuspended,
	},
	"after a failed destroy the object is removed when its resources are to be kept after all": {
		settled().keepingResources().failed(time.Second, destroying), keepsResources,
	},
}
