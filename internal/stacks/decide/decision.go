// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"
)

// Verb is the action to take.
type Verb string

const (
	// VerbRest: nothing to do.
	VerbRest Verb = "rest"
	// VerbAwaitRun: a run is in progress.
	VerbAwaitRun Verb = "await-run"
	// VerbAwaitApproval: a pending plan waits for approval.
	VerbAwaitApproval Verb = "await-approval"
	// VerbWait: something else must happen first; it is watched, or checked again at NextCheck.
	VerbWait Verb = "wait"
	// VerbFail: the stack cannot continue as it is declared.
	VerbFail Verb = "fail"
	// VerbPlan: make a plan and keep it.
	VerbPlan Verb = "plan"
	// VerbPlanAndApply: make a plan and apply it.
	VerbPlanAndApply Verb = "plan-and-apply"
	// VerbApply: apply the pending plan named by Subject.
	VerbApply Verb = "apply"
	// VerbJudge: ask contracts and policies about the pending plan named by Subject, then reconcile again.
	VerbJudge Verb = "judge"
	// VerbCancel: stop the run named by Subject; a newer configuration makes it pointless.
	VerbCancel Verb = "cancel"
	// VerbRelease: remove the finalizer of the deleted object.
	VerbRelease Verb = "release"
	// VerbUnlock: break the lock named by Subject, then reconcile again.
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

// Decision is one step for one stack. Conditions, logs, `yuba status` and dry runs print it.
type Decision struct {
	Verb Verb
	// Subject is the plan to apply, the run to wait for or cancel, or the first stack to wait for.
	Subject string
	// Reason is for machines, Message for people.
	Reason  string
	Message string
	// Detail adds to a Message with fixed wording; may be empty.
	Detail string
	// NextCheck is when to reconcile again without an event; zero for never.
	NextCheck time.Time

	// The remaining fields describe the run to start.
	Purpose string
	Destroy bool
	// UseKept says to use the artifact and inputs of the last apply.
	UseKept bool
	// Describe asks for the readable plan.
	Describe bool
	// Again: this retries a failure; another failure counts as one more in a row.
	Again bool
	// Failures counts attempts in a row that failed before a run, with this one; zero for others.
	Failures int
	// Spent: the stack allows no more attempts.
	Spent bool
	// Hold is the circuit breaker that holds the plan although the stack auto-approves.
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

// Reasons that decisions carry, the same as tofu-controller's where it has them.
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
	ReasonJudging             = "PolicyJudging"
	ReasonPolicyRefused       = "PolicyRefused"
	ReasonPolicyUnknown       = "PolicyUnknown"
	ReasonWaiting             = "Waiting"
	ReasonContractBroken      = "ContractBroken"
	ReasonContractsUnknown    = "ContractsUnknown"
	ReasonContractChanged     = "ContractChanged"
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
	ReasonMoved               = "Moved"
)
