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
	"without destroy the object goes and its resources are kept": {
		settled().keepingResources(), keepsResources,
	},
	"without destroy neither source, inputs, state nor lock hold the object": {
		settled().keepingResources().sourceGone().inputsGone().nothingKept().stateProblem("The state vanished").
			lockedBy("lock-1"),
		keepsResources,
	},
	"without destroy suspension holds the object": {
		settled().keepingResources().suspended(), deletionIsSuspended,
	},
	"without destroy an apply in progress is awaited": {
		settled().keepingResources().running(applying), awaitsRun("Deletion in progress"),
	},
	"a stack that was never applied goes at once": {
		fresh().deleted(), neverApplied,
	},
	"a stack that was never applied goes although its source is gone": {
		fresh().deleted().sourceGone(), neverApplied,
	},
	"a suspended stack that was never applied does not go": {
		fresh().deleted().suspended(), deletionIsSuspended,
	},
	"a suspended stack that others depend on tells of the suspension first": {
		settled().deleted().suspended().with(func(f *Facts) { f.Dependants = []string{"app"} }), deletionIsSuspended,
	},
	"a stack with a plan that was never approved goes at once": {
		fresh().deleted().with(func(f *Facts) { f.Pending = &Plan{ID: "plan-main-1", Config: present, Usable: true} }), neverApplied,
	},
	"a stack that adopted a state is destroyed although it never applied anything": {
		fresh().deleted().with(func(f *Facts) { f.StateExists = true }), destroys(),
	},
	"a stack that cannot read its state does not count as never applied": {
		fresh().deleted().stateProblem("The state is no JSON"), fails(ReasonStateUnreadable, "The state is no JSON"),
	},
	"an own backend may hold what others applied, so it is destroyed": {
		fresh().ownBackend().deleted(), destroys(),
	},
	"an own backend that was never applied goes when there is nothing to destroy it with": {
		fresh().ownBackend().deleted().sourceGone(), neverApplied,
	},
	"an own backend that was applied does not go when there is nothing to destroy it with": {
		settled().ownBackend().deleted().sourceGone().nothingKept(),
		cannotDestroy(ReasonArtifactFailed, "could not get Source object: it is gone"),
	},
	"an own backend that was applied is destroyed with what is kept": {
		settled().ownBackend().deleted().sourceGone(), destroys().withKept(),
	},
	"an applied stack is destroyed with its present source": {
		settled().deleted(), destroys(),
	},
	"destroying needs no approval, and plan-only and disable do not stop it": {
		settled().disabled().planOnly().deleted(), destroys(),
	},
	"a plan that waits is of no matter any more": {
		awaiting("plan-main-1").approving("plan-main-1").deleted(), destroys(),
	},
	"a failure before the deletion is not waited for": {
		settled().failed(time.Second, pointless).deleted(), destroys(),
	},
	"a source that is gone is replaced by what is kept": {
		settled().deleted().sourceGone(), destroys().withKept(),
	},
	"a variable's Secret that is gone is replaced by what is kept": {
		settled().deleted().inputsGone(), destroys().withKept(),
	},
	"with neither source nor anything kept it says so": {
		settled().deleted().sourceGone().nothingKept(),
		cannotDestroy(ReasonArtifactFailed, "could not get Source object: it is gone"),
	},
	"with neither inputs nor anything kept it says so": {
		settled().deleted().inputsGone().nothingKept(), cannotDestroy("InputsMissing", "Secret vpc-credentials is missing"),
	},
	"missing inputs without a reason failed as variables": {
		settled().deleted().inputsGone().nothingKept().with(func(f *Facts) { f.Inputs.Reason = "" }),
		cannotDestroy(ReasonVarsGeneration, "Secret vpc-credentials is missing"),
	},
	"a lock is waited for": {
		settled().deleted().lockedBy("lock-1"), isLocked,
	},
	"a state that cannot be used stops the destroy": {
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
	"a destroy in progress is awaited although the configuration moves": {
		settled().deleted().running(destroying).config(other), awaitsRun("Deletion in progress"),
	},
	"after the destroy the object goes": {
		settled().deleted().failed(0, destroying, func(r *Run) { r.Failed = false }), destroyedAll,
	},
	"after the destroy the object goes although its source is gone, it is suspended and locked": {
		settled().deleted().sourceGone().suspended().lockedBy("lock-1").failed(0, destroying, func(r *Run) { r.Failed = false }),
		destroyedAll,
	},
	"a destroy that was stopped before it began is none": {
		settled().deleted().failed(0, stopped, destroying), destroys(),
	},
}

func waitsToDestroy(next time.Time) Decision {
	return Decision{Verb: VerbWait, Reason: ReasonRetryPending, Message: "Destroy failed; retrying", NextCheck: next}
}

// Decisions after a failed destroy.
var failedDeletionScenarios = scenarios{
	"a failure before anything was destroyed is followed at once by an attempt with what is kept": {
		settled().deleted().failed(0, destroying), destroys().again().withKept(),
	},
	"a source that goes after the failure changes nothing about that": {
		settled().deleted().failed(0, destroying).sourceGone(), destroys().again().withKept(),
	},
	"a failure in the middle of destroying is not the source's fault: it waits": {
		settled().deleted().failed(time.Second, destroying, applyBegan), waitsToDestroy(noon.Add(14 * time.Second)),
	},
	"a failure in the middle of destroying is tried again with the same source": {
		settled().deleted().failed(afterFifteen, destroying, applyBegan), destroys().again(),
	},
	"a failure with nothing kept waits": {
		settled().deleted().nothingKept().failed(afterFifteen-1, destroying), waitsToDestroy(noon.Add(1)),
	},
	"a failure with nothing kept is tried again exactly when its interval is over": {
		settled().deleted().nothingKept().failed(afterFifteen, destroying), destroys().again(),
	},
	"a failure with what is kept waits": {
		settled().deleted().failed(time.Second, destroying, withKept), waitsToDestroy(noon.Add(14 * time.Second)),
	},
	"a failure with what is kept is followed by the present source again": {
		settled().deleted().failed(afterFifteen, destroying, withKept), destroys().again(),
	},
	"a failure with what is kept is followed by the same when there is nothing else": {
		settled().deleted().sourceGone().failed(afterFifteen, destroying, withKept), destroys().again().withKept(),
	},
	"a failure with what is kept waits when there is nothing else": {
		settled().deleted().sourceGone().failed(time.Second, destroying, withKept), waitsToDestroy(noon.Add(14 * time.Second)),
	},
	"destroying is tried again even when retrying looks pointless": {
		settled().deleted().nothingKept().failed(afterFifteen, destroying, pointless), destroys().again(),
	},
	"an interrupted destroy waits for the interval": {
		settled().deleted().failed(time.Second, interrupted, destroying), waitsToDestroy(noon.Add(14 * time.Second)),
	},
	"an interrupted destroy is made up for with the present source": {
		settled().deleted().failed(afterFifteen, interrupted, destroying), destroys().again(),
	},
	"a failure after which source and kept inputs are gone is not said to be tried again": {
		settled().deleted().sourceGone().nothingKept().failed(time.Second, destroying),
		cannotDestroy(ReasonArtifactFailed, "could not get Source object: it is gone"),
	},
	"the wait grows when it may": {
		settled().deleted().nothingKept().failed(0, destroying, func(r *Run) { r.Failures = 2 }).
			with(func(f *Facts) { f.Stack.MaxRetryInterval = time.Hour }),
		waitsToDestroy(noon.Add(time.Minute)),
	},
	"a mended configuration is tried at once": {
		settled().deleted().nothingKept().config(other).failed(time.Second, destroying), destroys().again(),
	},
	"a mended configuration is tried before what is kept": {
		settled().deleted().config(other).failed(time.Second, destroying), destroys().again(),
	},
	"a mended configuration waits after an attempt with what is kept": {
		settled().deleted().config(other).failed(time.Second, destroying, withKept), waitsToDestroy(noon.Add(14 * time.Second)),
	},
	"a request does not wait": {
		settled().deleted().requested().failed(time.Second, destroying, withKept), destroys().again(),
	},
	"a failed destroy of a suspended stack waits for it to be resumed": {
		settled().deleted().suspended().failed(time.Hour, destroying),
		deletionIsSuspended,
	},
	"a failed destroy is followed by the object's going when its resources may stay after all": {
		settled().keepingResources().failed(time.Second, destroying), keepsResources,
	},
}
