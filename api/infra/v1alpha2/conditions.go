// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"github.com/fluxcd/pkg/apis/meta"
)

// The conditions of a stack. Ready sums the others up; kubectl wait --for=condition=Ready is all that most people need.
//
//	Ready                what the object says is what the world is
//	├── StateLocked      (bad when True) somebody else holds the state's lock
//	├── Plan             the last plan has changes (False: there was nothing to do)
//	├── Apply            the last apply succeeded (Unknown: it is under way)
//	├── Output           outputs were read, and written where they are wanted
//	└── HealthCheck      what must answer after an apply does
//	Reconciling          (present only while True) work is under way or will be tried again
//	Stalled              (present only while True) nothing happens before a person changes something
//	Paused               (present only while True) many stacks fail alike; a circuit breaker tells when it is over
//	ResourcesUnproven    (present only while True) an apply was cut off: resources may exist, or be gone, without any state
//	                     proving it; stays until a state does, or a person acknowledges it
//
// Ready is Unknown while a plan waits for approval: nothing failed, and nothing is done.
const (
	ConditionReady       = meta.ReadyCondition
	ConditionReconciling = meta.ReconcilingCondition
	ConditionStalled     = meta.StalledCondition
	ConditionPlan        = "Plan"
	ConditionApply       = "Apply"
	ConditionOutput      = "Output"
	ConditionHealthCheck = "HealthCheck"
	ConditionStateLocked = "StateLocked"
	ConditionPaused      = "Paused"
	ConditionUnproven    = "ResourcesUnproven"
)

// OwnedConditions are the conditions that Yuba sets on a stack, the most telling first.
func OwnedConditions() []string {
	return []string{
		ConditionReady, ConditionReconciling, ConditionStalled, ConditionStateLocked,
		ConditionPlan, ConditionApply, ConditionOutput, ConditionHealthCheck, ConditionPaused, ConditionUnproven,
	}
}

// Reasons of conditions and events that tofu-controller has, too. Scripts compare them, so that they never change.
const (
	// ReasonProgressing: work is under way.
	ReasonProgressing = meta.ProgressingReason

	// ReasonAccessDenied: the object refers to another namespace, and the server does not allow that, or to what is another
	// tenant's.
	ReasonAccessDenied = "AccessDenied"
	// ReasonArtifactFailed: the source is missing, has no artifact, or its artifact cannot be fetched or unpacked.
	ReasonArtifactFailed = "ArtifactFailed"
	// ReasonDependencyNotReady: a stack in dependsOn is not ready; this one waits.
	ReasonDependencyNotReady = "DependencyNotReady"
	// ReasonDeletionBlockedByDependants: other stacks depend on this one, so that it cannot go yet.
	ReasonDeletionBlockedByDependants = "DeletionBlockedByDependantsReason"
	// ReasonRetryLimitReached: remediation.retries attempts failed; nothing happens before a change.
	ReasonRetryLimitReached = "RetryLimitReached"
	// ReasonReconciliationFailed: something failed that has no reason of its own.
	ReasonReconciliationFailed = "ReconciliationFailed"
	// ReasonReplanRequested: the pending plan was discarded because a new one was asked for.
	ReasonReplanRequested = "ReplanRequested"
	// ReasonRunnerQuotaExhausted: the namespace's quota leaves no room for the run's Pod. Only events have it.
	ReasonRunnerQuotaExhausted = "RunnerQuotaExhausted"

	// ReasonTemplateGenerationFailed: a template (main.tf.tpl, values) cannot be rendered.
	ReasonTemplateGenerationFailed = "TemplateGenerationFailed"
	// ReasonVarsGenerationFailed: a variable is missing, mistyped, or its Secret or ConfigMap is not there.
	ReasonVarsGenerationFailed = "VarsGenerationFailed"
	// ReasonSelectWorkspaceFailed: the workspace cannot be created or selected.
	ReasonSelectWorkspaceFailed = "SelectWorkspaceFailed"
	// ReasonNewFailed: the tool is missing, too old, or cannot be started.
	ReasonNewFailed = "TFExecNewFailed"
	// ReasonInitFailed: init failed.
	ReasonInitFailed = "TFExecInitFailed"

	// ReasonPlannedWithChanges: there is something to do.
	ReasonPlannedWithChanges = "TerraformPlannedWithChanges"
	// ReasonPlannedNoChanges: there is nothing to do.
	ReasonPlannedNoChanges = "TerraformPlannedNoChanges"
	// ReasonPlanSucceeded: a plan was made.
	ReasonPlanSucceeded = "TerraformPlanSucceed"
	// ReasonPlanFailed: no plan could be made.
	ReasonPlanFailed = "TFExecPlanFailed"
	// ReasonPostPlanningWebhookFailed: a webhook refused the plan or did not answer.
	ReasonPostPlanningWebhookFailed = "PostPlanningWebhookFailed"

	// ReasonApplied: the plan was applied.
	ReasonApplied = "TerraformAppliedSucceed"
	// ReasonApplyConditionFailed: the plan could not be applied; the reason of the condition Apply.
	ReasonApplyConditionFailed = "TerraformAppliedFail"
	// ReasonApplyFailed: the plan could not be applied; the reason of the condition Ready.
	ReasonApplyFailed = "TFExecApplyFailed"
	// ReasonDestroyed: everything was destroyed.
	ReasonDestroyed = "TerraformDestroySucceed"
	// ReasonDestroyFailed: not everything could be destroyed.
	ReasonDestroyFailed = "TFExecDestroyFailed"

	// ReasonNoDrift: the world is what the state says.
	ReasonNoDrift = "NoDrift"
	// ReasonDriftDetected: the world is not what the state says.
	ReasonDriftDetected = "DriftDetected"
	// ReasonDriftDetectionFailed: the world and the state could not be compared.
	ReasonDriftDetectionFailed = "DriftDetectionFailed"

	// ReasonOutputsAvailable: the outputs were read.
	ReasonOutputsAvailable = "TerraformOutputsAvailable"
	// ReasonOutputsWritten: the outputs were written into their Secret.
	ReasonOutputsWritten = "TerraformOutputsWritten"
	// ReasonOutputsWritingFailed: the outputs could not be written.
	ReasonOutputsWritingFailed = "OutputsWritingFailed"
	// ReasonOutputFailed: the outputs could not be read.
	ReasonOutputFailed = "TFExecOutputFailed"

	// ReasonHealthChecksSucceeded: everything answers that must.
	ReasonHealthChecksSucceeded = "HealthChecksSucceed"
	// ReasonHealthChecksFailed: something does not answer.
	ReasonHealthChecksFailed = "HealthChecksFailed"

	// ReasonLockHeld: somebody else holds the state's lock.
	ReasonLockHeld = "LockHeld"
	// ReasonForceUnlock: a lock was broken because the object asks for it.
	ReasonForceUnlock = "ForceUnlock"
)

// Reasons that only Yuba has.
const (
	// ReasonSuspended: spec.suspend holds the stack.
	ReasonSuspended = meta.SuspendedReason
	// ReasonFieldNotSupported: a field of the object has no effect yet, and ignoring it could do harm: nothing runs.
	ReasonFieldNotSupported = "FieldNotSupported"
	// ReasonPlanRejected: somebody rejected the pending plan.
	ReasonPlanRejected = "PlanRejected"
	// ReasonRunCanceled: a person ended the run. Another follows a change, or a request.
	ReasonRunCanceled = "RunCanceled"
	// ReasonRunInterrupted: the tool or its runner died in the middle of an apply. Nothing is applied before a fresh plan.
	ReasonRunInterrupted = "RunInterrupted"
	// ReasonDependencyCycle: the stack depends, by way of others, on itself.
	ReasonDependencyCycle = "DependencyCycle"
	// ReasonBreakTheGlass: somebody works on the stack by hand; nothing runs.
	ReasonBreakTheGlass = "BreakTheGlass"
	// ReasonLockOrphaned: the lock of a run that is over was released. Only events have it.
	ReasonLockOrphaned = "LockOrphaned"
	// ReasonStateMissing: the state is gone although there was one. Nothing is planned before it is back.
	ReasonStateMissing = "StateMissing"
	// ReasonStateUnreadable: the state's Secret does not hold a state. It is never overwritten.
	ReasonStateUnreadable = "StateUnreadable"
	// ReasonDoneByHand: a person changed the state or opened a shell (`yuba state`, `yuba shell`). Only events have it.
	ReasonDoneByHand = "DoneByHand"
	// ReasonCircuitOpen: many stacks fail alike, so that a circuit breaker pauses this one; the reason of the condition
	// Paused.
	ReasonCircuitOpen = "CircuitOpen"
	// ReasonStateTakenOver: the state is that of a deleted stack, and nobody has approved a plan on it.
	ReasonStateTakenOver = "StateTakenOver"
	// ReasonInvalidName: a name that the object uses cannot exist in Kubernetes. Nothing happens before it is changed.
	ReasonInvalidName = "InvalidName"
	// ReasonApplyCutOff: an apply was cut off, and no state proves what it did; the reason of the condition
	// ResourcesUnproven.
	ReasonApplyCutOff = "ApplyCutOff"
	// ReasonResourcesProven: states now prove what an interrupted apply did, or a person acknowledged it. Only events
	// have it.
	ReasonResourcesProven = "ResourcesProven"
	// ReasonStateMoved: somebody else wrote the state after the plan was made.
	ReasonStateMoved = "StateMoved"
)
