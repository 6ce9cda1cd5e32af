// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"time"
)

// dependencyWaits names the dependencies that are not ready; the message names only team/vpc.
func dependencyWaits(lacks ...string) Decision {
	detail := "Dependencies do not meet ready condition, retrying in 15s"
	if len(lacks) > 1 {
		detail += ": " + strings.Join(lacks, "; ")
	}
	return Decision{Verb: VerbWait, Subject: "team/vpc", Reason: ReasonDependencyNotReady, Message: lacks[0], Detail: detail, NextCheck: noon.Add(afterFifteen)}
}

// Dependencies and dependants.
var dependencyScenarios = scenarios{
	"a new stack is planned when its dependency is ready": {
		fresh().dependsOn("team/vpc"), plans(ReasonFirstPlan, "The stack has not been planned yet"),
	},
	"a new stack waits for its dependency": {
		fresh().dependsOn("team/vpc", notReady), dependencyWaits("dependency 'team/vpc' is not ready"),
	},
	"a dependency whose Ready condition is of an older generation is not ready": {
		fresh().dependsOn("team/vpc", func(d *Dependency) { d.Observed = false }), dependencyWaits("dependency 'team/vpc' is not ready"),
	},
	"a missing dependency is waited for": {
		fresh().dependsOn("team/vpc", func(d *Dependency) { *d = Dependency{Name: "team/vpc", Missing: true} }),
		dependencyWaits(`unable to get 'team/vpc' dependency: Terraform.infra.contrib.fluxcd.io "vpc" not found`),
	},
	"a dependency that is being deleted is waited for": {
		fresh().dependsOn("team/vpc", func(d *Dependency) { d.Deleting = true }), dependencyWaits("dependency 'team/vpc' is being deleted"),
	},
	"every dependency that is not ready is named": {
		fresh().dependsOn("team/vpc", notReady).dependsOn("ok").dependsOn("data/db", notReady),
		dependencyWaits("dependency 'team/vpc' is not ready", "dependency 'data/db' is not ready"),
	},
	"a dependency with the same source must have planned or applied the revision": {
		fresh().dependsOn("team/vpc", func(d *Dependency) { d.SameSource, d.Revisions = true, []string{oldRevision, ""} }),
		dependencyWaits("dependency 'team/vpc' is not updated yet"),
	},
	"a dependency with the same source is ready when it was planned or applied with the revision": {
		fresh().dependsOn("team/vpc", func(d *Dependency) { d.SameSource = true }), plans(ReasonFirstPlan, "The stack has not been planned yet"),
	},
	"a dependency with another source may have any revision": {
		fresh().dependsOn("team/vpc", func(d *Dependency) { d.Revisions = []string{"v1", ""} }),
		plans(ReasonFirstPlan, "The stack has not been planned yet"),
	},
	"a dependency's outputs must exist": {
		fresh().dependsOn("team/vpc", func(d *Dependency) { d.OutputsMissing = "team/vpc-outputs" }),
		dependencyWaits("dependency output secret: 'team/vpc-outputs' of 'team/vpc' is not ready yet"),
	},
	"a dependency in a namespace that may not be used is not waited for": {
		fresh().dependsOn("team/vpc", notReady).dependsOn("other/vpc", func(d *Dependency) { d.Denied = true }),
		Decision{Verb: VerbFail, Reason: ReasonAccessDenied,
			Message: "cannot access other/vpc, cross-namespace references have been disabled"},
	},
	"a source problem is reported before a dependency": {
		fresh().dependsOn("team/vpc", notReady).sourceGone(), fails(ReasonArtifactFailed, "could not get Source object: it is gone"),
	},
	"a dependency is reported before missing inputs that it may be about to write": {
		fresh().dependsOn("team/vpc", notReady).inputsGone(), dependencyWaits("dependency 'team/vpc' is not ready"),
	},
	"missing inputs are reported when the dependency is ready": {
		fresh().dependsOn("team/vpc").inputsGone(), fails("InputsMissing", "Secret vpc-credentials is missing"),
	},
	"a settled stack ignores changes of its dependency's status": {
		settled().dependsOn("team/vpc", notReady), rests(nextDriftCheck),
	},
	"a changed stack waits for its dependency": {
		settled().dependsOn("team/vpc", notReady).config(other), dependencyWaits("dependency 'team/vpc' is not ready"),
	},
	"drift detection waits while a dependency changes": {
		settled().auto().checkedForDrift(time.Hour).dependsOn("team/vpc", notReady), dependencyWaits("dependency 'team/vpc' is not ready"),
	},
	"an approved plan waits for the dependency": {
		awaiting("plan-main-1").approving("plan-main-1").dependsOn("team/vpc", notReady), dependencyWaits("dependency 'team/vpc' is not ready"),
	},
	"an unapproved plan keeps waiting for approval": {
		awaiting("plan-main-1").dependsOn("team/vpc", notReady), awaitsApproval("plan-main-1", setApprove, nextDriftCheck),
	},
	"a dependency cycle is reported before anything else": {
		settled().sourceGone().dependsOn("app", notReady).with(func(f *Facts) { f.Cycle = "app -> vpc -> app" }),
		Decision{Verb: VerbFail, Reason: ReasonDependencyCycle, Message: "spec.dependsOn has a cycle: " +
			"app -> vpc -> app. Remove one of the references"},
	},
	"a lock is reported before a dependency": {
		fresh().dependsOn("team/vpc", notReady).lockedBy("lock-1"), isLocked,
	},
	"a suspended stack does not report its dependencies": {
		settled().suspended().dependsOn("team/vpc", notReady).config(other), isSuspended,
	},
	"a stack that others depend on is not removed": {
		settled().deleted().with(func(f *Facts) { f.Dependants = []string{"app", "other/web"} }),
		fails(ReasonDeletionBlocked, "Deletion in progress, but blocked. Please delete app, other/web to resume ..."),
	},
	"a stack that others depend on is not removed when its resources are kept, either": {
		settled().keepingResources().with(func(f *Facts) { f.Dependants = []string{"app"} }),
		fails(ReasonDeletionBlocked, "Deletion in progress, but blocked. Please delete app to resume ..."),
	},
	"a missing dependency does not block a destroy": {
		settled().deleted().dependsOn("team/vpc", func(d *Dependency) { d.Missing = true }), destroys(),
	},
}
