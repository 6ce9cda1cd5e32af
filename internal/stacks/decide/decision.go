// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"
)

// Verb is what to do.
type Verb string

const (
	// VerbRest: all is as it should be.
	VerbRest Verb = "rest"
	// VerbAwaitRun: a run is in progress.
	VerbAwaitRun Verb = "await-run"
	// VerbAwaitApproval: a plan is pending and a person decides.
	VerbAwaitApproval Verb = "await-approval"
	// VerbWait: something outside must happen first; it is watched, or checked again at NextCheck.
	VerbWait Verb = "wait"
	// VerbFail: the stack cannot go on as it is declared.
	VerbFail Verb = "fail"
	// VerbPlan: make a plan and keep it.
	VerbPlan Verb = "plan"
	// VerbPlanAndApply: make a plan and apply it.
	VerbPlanAndApply Verb = "plan-and-apply"
	// VerbApply: apply the pending plan named by Subject.
	VerbApply Verb = "apply"
	// VerbCancel: stop the run named by Subject, a newer configuration makes it pointless.
	VerbCancel Verb = "cancel"
	// VerbRelease: let the deleted object go.
	VerbRelease Verb = "release"
	// VerbUnlock: break the lock named by Subject, then look again.
	VerbUnlock Verb = "unlock"
)

// StartsRun reports whether acting on the verb starts a run.
func (v Verb) StartsRun() bool {
	return v == VerbPlan || v == VerbPlanAndApply || v == VerbApply
}

// Purposes of runs.
const (
	PurposeDeploy = "deploy"
	PurposeDrift  = "drift"
	PurposeDelete = "delete"
)

// Decision is one step for one stack. It is what conditions, logs, `yuba status` and dry runs print.
type Decision struct {
	Verb Verb
	// Subject is the plan to apply, the run to wait for or cancel, or the first stack to wait for.
	Subject string
	// Reason is a word for machines, Message a sentence for people.
	Reason  string
	Message string
	// Detail is what people should know beside a message whose words are given; empty for nothing.
	Detail string
	// NextCheck is when to look again even if nothing happens; zero means that only an event matters.
	NextCheck time.Time

	// The rest describes the run to start.
	Purpose string
	Destroy bool
	// UseKept says to use the artifact and inputs of the last apply.
	UseKept bool
	// Describe asks for the readable plan.
	Describe bool
	// Again is true for another attempt at what failed: a failure of it is one more in the row.
	Again bool
	// Failures is how many attempts in a row ended before a run could begin, this one included; zero when this is not one.
	Failures int
	// Spent is true when the attempts that the stack allows are used up.
	Spent bool
	// Hold is the circuit breaker because of which the plan is kept for a person although the stack applies by itself.
	Hold string
}

func (d Decision) String() string {
	s := string(d.Verb)
	if d.Subject != "" {
		s += " " + d.Subject
	}
	if d.Reason != "" {
		s += " (" + d.Reason + ")"
	}
	if d.Message != "" {
		s += ": " + d.Message
	}
	if d.Detail != "" {
		s += " (" + d.Detail + ")"
	}
	if !d.NextCheck.IsZero() {
		s += fmt.Sprintf("; next check %s", d.NextCheck.UTC().Format(time.RFC3339))
	}
	return s
}

// Reasons that decisions carry. Those that tofu-controller's users know have its words.
const (
	ReasonAccessDenied        = "AccessDenied"
	ReasonArtifactFailed      = "ArtifactFailed"
	ReasonVarsGeneration      = "VarsGenerationFailed"
	ReasonDependencyNotReady  = "DependencyNotReady"
	ReasonDependencyCycle     = "DependencyCycle"
	ReasonDeletionBlocked     = "DeletionBlockedByDependantsReason"
	ReasonBreakTheGlass       = "BreakTheGlass"
	ReasonRetryLimit          = "RetryLimitReached"
	ReasonReplan              = "ReplanRequested"
	ReasonForceUnlock         = "ForceUnlock"
	ReasonLockOrphaned        = "LockOrphaned"
	ReasonLockHeld            = "LockHeld"
	ReasonStateUnreadable     = "StateUnreadable"
	ReasonSuspended           = "Suspended"
	ReasonProgressing         = "Progressing"
	ReasonAwaitingApproval    = "TerraformPlannedWithChanges"
	ReasonRejected            = "PlanRejected"
	ReasonApproved            = "PlanApproved"
	ReasonSuperseded          = "Superseded"
	ReasonDeleting            = "Deleting"
	ReasonDeleted             = "Deleted"
	ReasonRetryPending        = "RetryPending"
	ReasonRequested           = "ReconcileRequested"
	ReasonFirstPlan           = "FirstPlan"
	ReasonConfigChanged       = "ConfigurationChanged"
	ReasonModulesMayMove      = "ModulesMayHaveMoved"
	ReasonPlanStale           = "PlanStale"
	ReasonRetry               = "Retry"
	ReasonInterrupted         = "Interrupted"
	ReasonForced              = "Forced"
	ReasonDriftDue            = "DriftCheckDue"
	ReasonUpToDate            = "UpToDate"
	ReasonNothingLeftToDelete = "NothingToDestroy"
	ReasonCircuitOpen         = "CircuitOpen"
	ReasonCircuitProbe        = "CircuitProbe"
	ReasonCircuitClosed       = "CircuitClosed"
	ReasonStateTakenOver      = "StateTakenOver"
)
