// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

// fails is a failure that is checked again after the retry interval.
func fails(reason, message string) Decision {
	return Decision{Verb: VerbFail, Reason: reason, Message: message, NextCheck: noon.Add(afterFifteen)}
}

// Unusable sources and inputs.
var sourceScenarios = scenarios{
	"a source that is not ready stops a new stack": {
		fresh().sourceGone(), fails(ReasonArtifactFailed, "could not get Source object: it is gone"),
	},
	"a source that is not ready stops a settled stack in mode auto": {
		settled().auto().checkedForDrift(time.Hour).sourceGone(),
		fails(ReasonArtifactFailed, "could not get Source object: it is gone"),
	},
	"a source that must change first is only watched": {
		settled().sourceGone().with(func(f *Facts) { f.Source.Lasting = true }),
		Decision{Verb: VerbFail, Reason: ReasonArtifactFailed, Message: "could not get Source object: it is gone"},
	},
	"a source that may not be used is not waited for": {
		settled().sourceGone().with(func(f *Facts) { f.Source.Denied = true }),
		Decision{Verb: VerbFail, Reason: ReasonAccessDenied, Message: "could not get Source object: it is gone"},
	},
	"a source problem is reported before missing inputs": {
		settled().inputsGone().sourceGone(), fails(ReasonArtifactFailed, "could not get Source object: it is gone"),
	},
	"missing inputs have their own reason": {
		settled().inputsGone(), fails("InputsMissing", "Secret vpc-credentials is missing"),
	},
	"missing inputs without a reason are reported as failed variables": {
		settled().inputsGone().with(func(f *Facts) { f.Inputs.Reason = "" }),
		fails(ReasonVarsGeneration, "Secret vpc-credentials is missing"),
	},
	"missing inputs are reported before an unusable state": {
		settled().stateProblem("The state is no JSON").inputsGone(), fails("InputsMissing", "Secret vpc-credentials is missing"),
	},
	"a reconcile request does not help a missing source": {
		settled().requested().sourceGone(), fails(ReasonArtifactFailed, "could not get Source object: it is gone"),
	},
	"a source that is not ready is checked again after a second when the retry interval is zero": {
		settled().sourceGone().with(func(f *Facts) { f.Stack.RetryInterval = 0 }),
		Decision{Verb: VerbFail, Reason: ReasonArtifactFailed, Message: "could not get Source object: it is gone",
			NextCheck: noon.Add(time.Second)},
	},
}

var (
	isSuspended = Decision{Verb: VerbRest, Reason: ReasonSuspended, Message: "Suspended by spec.suspend"}
	isLocked    = Decision{Verb: VerbWait, Subject: "lock-1", Reason: ReasonLockHeld,
		Message: "Terraform Locked with Lock Identifier: lock-1", NextCheck: noon.Add(afterFifteen)}
)

// Suspension, another holder's lock, and unusable states.
var standstillScenarios = scenarios{
	"a suspended stack is not planned": {
		fresh().suspended(), isSuspended,
	},
	"a suspended stack does not apply an approved plan": {
		awaiting("plan-main-1").approving("plan-main-1").suspended(), isSuspended,
	},
	"a suspended stack has no drift detection": {
		settled().suspended().checkedForDrift(time.Hour), isSuspended,
	},
	"a suspended stack handles no reconcile request": {
		settled().suspended().requested(), isSuspended,
	},
	"a suspended stack does not report its source": {
		settled().suspended().sourceGone(), isSuspended,
	},
	"a lock prevents planning": {
		fresh().lockedBy("lock-1"), isLocked,
	},
	"a lock prevents the apply of an approved plan": {
		awaiting("plan-main-1").approving("plan-main-1").lockedBy("lock-1"), isLocked,
	},
	"a lock prevents drift detection": {
		settled().checkedForDrift(time.Hour).lockedBy("lock-1"), isLocked,
	},
	"a lock delays a reconcile request": {
		settled().requested().lockedBy("lock-1"), isLocked,
	},
	"a lock blocks a forced stack": {
		settled().forced().requested().lockedBy("lock-1"), isLocked,
	},
	"an unusable state blocks everything": {
		settled().auto().config(other).stateProblem("The state is no JSON"), fails(ReasonStateUnreadable, "The state is no JSON"),
	},
	"an unusable state blocks the apply of an approved plan": {
		awaiting("plan-main-1").approving("plan-main-1").stateProblem("The state vanished"),
		fails(ReasonStateUnreadable, "The state vanished"),
	},
	"an unusable state is reported before its lock": {
		settled().stateProblem("The state vanished").lockedBy("lock-1"), fails(ReasonStateUnreadable, "The state vanished"),
	},
}

func awaitsRun(message string) Decision {
	return Decision{Verb: VerbAwaitRun, Subject: "run-2", Reason: ReasonProgressing, Message: message}
}

// A run in progress is always watched.
var runInHandScenarios = scenarios{
	"a plan in progress is awaited": {
		settled().running(asIs), awaitsRun("Terraform Planning"),
	},
	"an apply in progress is awaited": {
		settled().running(applying), awaitsRun("Applying"),
	},
	"a plan in progress is stopped when the stack is suspended": {
		settled().running(asIs).suspended(),
		Decision{Verb: VerbCancel, Subject: "run-2", Reason: ReasonSuspended, Message: "The stack was suspended while it was being planned"},
	},
	"a plan in progress is stopped when somebody works on the stack manually": {
		settled().running(asIs).held(),
		Decision{Verb: VerbCancel, Subject: "run-2", Reason: ReasonBreakTheGlass, Message: "The stack was held for manual work while it was being planned"},
	},
	"an apply in progress continues while the stack is suspended": {
		settled().running(applying).suspended(), awaitsRun("Applying"),
	},
	"an apply that was canceled too late continues": {
		settled().running(func(r *Run) { r.Apply, r.Canceled = true, true }), awaitsRun("Applying"),
	},
	"a plan in progress is stopped when the configuration changes": {
		settled().running(asIs).config(other),
		Decision{Verb: VerbCancel, Subject: "run-2", Reason: ReasonSuperseded,
			Message: "The configuration changed while it was being planned"},
	},
	"a plan in progress is stopped when destroy is switched on": {
		settled().running(asIs).toDestroy(),
		Decision{Verb: VerbCancel, Subject: "run-2", Reason: ReasonSuperseded,
			Message: "The configuration changed while it was being planned"},
	},
	"an apply that waits for a Pod of other settings is called back": {
		settled().running(func(r *Run) { r.Apply, r.Misplaced = true, true }),
		Decision{Verb: VerbCancel, Subject: "run-2", Reason: ReasonSuperseded, Message: "The settings of the runner Pod changed before the run began"},
	},
	"and only once": {
		settled().running(func(r *Run) { r.Apply, r.Misplaced, r.Canceled = true, true, true }), awaitsRun("Applying"),
	},
	"a plan is stopped once": {
		settled().running(toStop).config(other), awaitsRun("Stopping a plan that is no longer wanted"),
	},
	"an apply is never stopped, however the configuration changes": {
		settled().running(applying).config(other), awaitsRun("Applying"),
	},
	"a plan in progress continues when the source cannot be read": {
		settled().running(asIs).sourceGone(), awaitsRun("Terraform Planning"),
	},
	"a run in progress is watched although the stack is suspended": {
		settled().running(applying).suspended(), awaitsRun("Applying"),
	},
	"a run in progress comes before an approved plan": {
		awaiting("plan-main-1").approving("plan-main-1").running(lookingForDrift), awaitsRun("Terraform Planning"),
	},
	"a run in progress comes before a request": {
		settled().requested().running(asIs), awaitsRun("Terraform Planning"),
	},
	"a run in progress comes before a lock and a state problem": {
		settled().lockedBy("lock-1").stateProblem("The state vanished").running(applying), awaitsRun("Applying"),
	},
	"a destroy in progress is reported as a destroy": {
		settled().running(destroying), awaitsRun("Deletion in progress"),
	},
}
