// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

func dependencyWaits(detail string) Decision {
	return Decision{Verb: VerbWait, Reason: ReasonDependencyNotReady, Detail: detail,
		Message: "Dependencies do not meet ready condition, retrying in 15s", NextCheck: noon.Add(afterFifteen)}
}

// What stacks do for those they depend on, and the other way round.
var dependencyScenarios = scenarios{
	"a new stack is planned when its dependency is ready": {
		fresh().dependsOn("vpc"), plans(ReasonFirstPlan, "The stack has not been planned yet"),
	},
	"a new stack waits for its dependency": {
		fresh().dependsOn("vpc", notReady), dependencyWaits("dependency vpc is not ready"),
	},
	"a dependency that is ready as it was before its object changed is not ready": {
		fresh().dependsOn("vpc", func(d *Dependency) { d.Observed = false }), dependencyWaits("dependency vpc is not ready"),
	},
	"a dependency that does not exist is waited for": {
		fresh().dependsOn("vpc", func(d *Dependency) { *d = Dependency{Name: "vpc", Missing: true} }),
		dependencyWaits("dependency vpc does not exist"),
	},
	"a dependency that goes is waited for": {
		fresh().dependsOn("vpc", func(d *Dependency) { d.Deleting = true }), dependencyWaits("dependency vpc is being deleted"),
	},
	"every dependency that is not ready is named": {
		fresh().dependsOn("vpc", notReady).dependsOn("ok").dependsOn("data/db", notReady),
		dependencyWaits("dependency vpc is not ready; dependency data/db is not ready"),
	},
	"a dependency with the same source must have seen the revision": {
		fresh().dependsOn("vpc", func(d *Dependency) { d.SameSource, d.Revisions = true, []string{oldRevision, ""} }),
		dependencyWaits("dependency vpc has not been planned with revision main@sha1:1a2b3c4d5e6f of the source yet"),
	},
	"a dependency with the same source is ready when it was planned or applied with the revision": {
		fresh().dependsOn("vpc", func(d *Dependency) { d.SameSource = true }), plans(ReasonFirstPlan, "The stack has not been planned yet"),
	},
	"a dependency with another source may have any revision": {
		fresh().dependsOn("vpc", func(d *Dependency) { d.Revisions = []string{"v1", ""} }),
		plans(ReasonFirstPlan, "The stack has not been planned yet"),
	},
	"a dependency's outputs must be there": {
		fresh().dependsOn("vpc", func(d *Dependency) { d.OutputsMissing = "vpc-outputs" }),
		dependencyWaits("the Secret vpc-outputs with the outputs of dependency vpc is not there yet"),
	},
	"a dependency in a namespace that may not be used is not waited for": {
		fresh().dependsOn("vpc", notReady).dependsOn("other/vpc", func(d *Dependency) { d.Denied = true }),
		Decision{Verb: VerbFail, Reason: ReasonAccessDenied,
			Message: "cannot access other/vpc, cross-namespace references have been disabled"},
	},
	"the source is named before a dependency": {
		fresh().dependsOn("vpc", notReady).sourceGone(), fails(ReasonArtifactFailed, "could not get Source object: it is gone"),
	},
	"a dependency is named before the inputs that it may be about to write": {
		fresh().dependsOn("vpc", notReady).inputsGone(), dependencyWaits("dependency vpc is not ready"),
	},
	"inputs that are missing although the dependency is ready are named": {
		fresh().dependsOn("vpc").inputsGone(), fails("InputsMissing", "Secret vpc-credentials is missing"),
	},
	"a settled stack is not disturbed by what its dependency goes through": {
		settled().dependsOn("vpc", notReady), rests(nextDriftCheck),
	},
	"a changed stack waits for its dependency": {
		settled().dependsOn("vpc", notReady).config(other), dependencyWaits("dependency vpc is not ready"),
	},
	"drift is not looked for while a dependency changes": {
		settled().auto().checkedForDrift(time.Hour).dependsOn("vpc", notReady), dependencyWaits("dependency vpc is not ready"),
	},
	"an approved plan waits for the dependency": {
		awaiting("plan-main-1").approving("plan-main-1").dependsOn("vpc", notReady), dependencyWaits("dependency vpc is not ready"),
	},
	"a plan that nobody approved keeps waiting for that": {
		awaiting("plan-main-1").dependsOn("vpc", notReady), awaitsApproval("plan-main-1", setApprove, nextDriftCheck),
	},
	"a circle is told at once, whatever else there is": {
		settled().sourceGone().dependsOn("app", notReady).with(func(f *Facts) { f.Cycle = "app -> vpc -> app" }),
		Decision{Verb: VerbFail, Reason: ReasonDependencyCycle, Message: "spec.dependsOn goes round in a circle, so that none of " +
			"these stacks could ever be first: app -> vpc -> app. Remove one of the references"},
	},
	"a lock is told before a dependency": {
		fresh().dependsOn("vpc", notReady).lockedBy("lock-1"), isLocked,
	},
	"a suspended stack does not complain about its dependencies": {
		settled().suspended().dependsOn("vpc", notReady).config(other), isSuspended,
	},
	"a stack that others depend on does not go": {
		settled().deleted().with(func(f *Facts) { f.Dependants = []string{"app", "other/web"} }),
		fails(ReasonDeletionBlocked, "Deletion in progress, but blocked. Please delete app, other/web to resume ..."),
	},
	"nor does it when its resources are kept": {
		settled().keepingResources().with(func(f *Facts) { f.Dependants = []string{"app"} }),
		fails(ReasonDeletionBlocked, "Deletion in progress, but blocked. Please delete app to resume ..."),
	},
	"a missing dependency does not keep a stack from being destroyed": {
		settled().deleted().dependsOn("vpc", func(d *Dependency) { d.Missing = true }), destroys(),
	},
}
