// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"github.com/fluxcd/pkg/apis/meta"
)

// The conditions of a stack. Ready summarizes the others; most users only need kubectl wait
// --for=condition=Ready.
//
//	Ready                the infrastructure matches the spec
//	├── StateLocked      (bad when True) another lock holder has the lock of the state
//	├── Plan             the last plan has changes (False: no changes)
//	├── Apply            the last apply succeeded (Unknown: in progress)
//	├── Output           outputs were read, and written to their Secret
//	└── HealthCheck      the health checks after an apply succeeded
//	Reconciling          (present only while True) work is in progress or will be retried
//	Stalled              (present only while True) retry only after somebody changes something
//	Paused               (present only while True) paused by a circuit breaker during an outage
//	ResourcesUnproven    (present only while True) an interrupted apply may have made or destroyed
//	                     resources; stays until a state proves it or a person acknowledges it
//
// Ready is Unknown while a plan waits for approval: nothing failed, and the stack is not applied
// yet.
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

// OwnedConditions are the conditions that Yuba sets on a stack, the most important first.
func OwnedConditions() []string {
	return []string{
		ConditionReady, ConditionReconciling, ConditionStalled, ConditionStateLocked,
		ConditionPlan, ConditionApply, ConditionOutput, ConditionHealthCheck, ConditionPaused, ConditionUnproven,
	}
}

// Reasons of conditions and events that tofu-controller also has. Scripts compare them, so they
// never change.
const (
	// ReasonProgressing: work is in progress.
	ReasonProgressing = meta.ProgressingReason

	// ReasonAccessDenied: the object refers to another namespace, which the server does not allow,
	// or to an object of another tenant.
	ReasonAccessDenied = "AccessDenied"
	// ReasonArtifactFailed: the source does not exist, has no artifact, or its artifact cannot be
	// fetched or unpacked.
	ReasonArtifactFailed = "ArtifactFailed"
	// ReasonDependencyNotReady: a stack in dependsOn is not ready; this one waits.
	ReasonDependencyNotReady = "DependencyNotReady"
	// ReasonDeletionBlockedByDependants: the stack cannot be deleted yet, because other stacks
	// depend on it.
	ReasonDeletionBlockedByDependants = "DeletionBlockedByDependantsReason"
	// ReasonRetryLimitReached: spec.remediation.retries attempts failed. Yuba retries after the
	// next change.
	ReasonRetryLimitReached = "RetryLimitReached"
	// ReasonReconciliationFailed: another failure that has no reason of its own.
	ReasonReconciliationFailed = "ReconciliationFailed"
	// ReasonReplanRequested: Yuba discarded the pending plan because somebody requested a new one.
	ReasonReplanRequested = "ReplanRequested"
	// ReasonRunnerQuotaExhausted: the namespace's quota does not allow the run's Pod. Only in
	// events.
	ReasonRunnerQuotaExhausted = "RunnerQuotaExhausted"

	// ReasonTemplateGenerationFailed: a template (main.tf.tpl, values) cannot be rendered.
	ReasonTemplateGenerationFailed = "TemplateGenerationFailed"
	// ReasonVarsGenerationFailed: a variable is missing or has the wrong type, or its Secret or
	// ConfigMap does not exist.
	ReasonVarsGenerationFailed = "VarsGenerationFailed"
	// ReasonSelectWorkspaceFailed: the workspace cannot be created or selected.
	ReasonSelectWorkspaceFailed = "SelectWorkspaceFailed"
	// ReasonNewFailed: the tool is missing, too old, or cannot be started.
	ReasonNewFailed = "TFExecNewFailed"
	// ReasonInitFailed: init failed.
	ReasonInitFailed = "TFExecInitFailed"

	// ReasonPlannedWithChanges: the plan has changes.
	ReasonPlannedWithChanges = "TerraformPlannedWithChanges"
	// ReasonPlannedNoChanges: the plan has no changes.
	ReasonPlannedNoChanges = "TerraformPlannedNoChanges"
	// ReasonPlanSucceeded: planning succeeded.
	ReasonPlanSucceeded = "TerraformPlanSucceed"
	// ReasonPlanFailed: planning failed.
	ReasonPlanFailed = "TFExecPlanFailed"
	// ReasonPostPlanningWebhookFailed: a webhook refused the plan or did not answer.
	ReasonPostPlanningWebhookFailed = "PostPlanningWebhookFailed"

	// ReasonApplied: the plan was applied.
	ReasonApplied = "TerraformAppliedSucceed"
	// ReasonApplyConditionFailed: the apply failed; the reason of the condition Apply.
	ReasonApplyConditionFailed = "TerraformAppliedFail"
	// ReasonApplyFailed: the apply failed; the reason of the condition Ready.
	ReasonApplyFailed = "TFExecApplyFailed"
	// ReasonDestroyed: everything was destroyed.
	ReasonDestroyed = "TerraformDestroySucceed"
	// ReasonDestroyFailed: not everything could be destroyed.
	ReasonDestroyFailed = "TFExecDestroyFailed"

	// ReasonNoDrift: the infrastructure matches the state.
	ReasonNoDrift = "NoDrift"
	// ReasonDriftDetected: the infrastructure differs from the state.
	ReasonDriftDetected = "DriftDetected"
	// ReasonDriftDetectionFailed: the drift check failed.
	ReasonDriftDetectionFailed = "DriftDetectionFailed"

	// ReasonOutputsAvailable: the outputs were read.
	ReasonOutputsAvailable = "TerraformOutputsAvailable"
	// ReasonOutputsWritten: the outputs were written to their Secret.
	ReasonOutputsWritten = "TerraformOutputsWritten"
	// ReasonOutputsWritingFailed: the outputs could not be written.
	ReasonOutputsWritingFailed = "OutputsWritingFailed"
	// ReasonOutputFailed: the outputs could not be read.
	ReasonOutputFailed = "TFExecOutputFailed"

	// ReasonHealthChecksSucceeded: all health checks succeeded.
	ReasonHealthChecksSucceeded = "HealthChecksSucceed"
	// ReasonHealthChecksFailed: a health check failed.
	ReasonHealthChecksFailed = "HealthChecksFailed"

	// ReasonLockHeld: another lock holder has the lock of the state.
	ReasonLockHeld = "LockHeld"
	// ReasonForceUnlock: Yuba broke a lock because spec.tfstate requests it.
	ReasonForceUnlock = "ForceUnlock"
)

// Reasons that only Yuba has.
const (
	// ReasonSuspended: spec.suspend suspends the stack.
	ReasonSuspended = meta.SuspendedReason
	// ReasonFieldNotSupported: a field is not supported yet, and ignoring it could do harm. Yuba
	// starts no runs.
	ReasonFieldNotSupported = "FieldNotSupported"
	// ReasonWaiting: a contract that the stack consumes is not published yet. The message names the
	// producer.
	ReasonWaiting = "Waiting"
	// ReasonContractMisfit: the stack cannot consume or publish a contract as it declares it.
	ReasonContractMisfit = "ContractMisfit"
	// ReasonContractBroken: the pending plan breaks a contract, so it waits for a person, or an
	// applied value does not fit, so that it was not published.
	ReasonContractBroken = "ContractBroken"
	// ReasonContractPublished: a revision was published. Only in events.
	ReasonContractPublished = "ContractPublished"
	// ReasonPolicyRefused: a policy refuses the pending plan, the plan of a deletion, or that the
	// configuration is planned. Nobody may apply it.
	ReasonPolicyRefused = "PolicyRefused"
	// ReasonPlanRejected: somebody rejected the pending plan.
	ReasonPlanRejected = "PlanRejected"
	// ReasonRunCanceled: somebody canceled the run. The next run follows a change or a request.
	ReasonRunCanceled = "RunCanceled"
	// ReasonRunInterrupted: the tool or its runner died during an apply. Yuba makes a fresh plan
	// before it applies anything.
	ReasonRunInterrupted = "RunInterrupted"
	// ReasonDependencyCycle: the stack depends on itself through other stacks.
	ReasonDependencyCycle = "DependencyCycle"
	// ReasonBreakTheGlass: somebody works on the stack manually. Yuba starts no runs.
	ReasonBreakTheGlass = "BreakTheGlass"
	// ReasonMoved: "yuba move" moved the stack to another home, or is moving it here. Yuba starts no
	// runs, and a deletion keeps all resources.
	ReasonMoved = "Moved"
	// ReasonLockOrphaned: Yuba released the lock of a run that had ended. Only in events.
	ReasonLockOrphaned = "LockOrphaned"
	// ReasonStateMissing: the stack had a state, and it is gone. Yuba does not plan until it is
	// restored.
	ReasonStateMissing = "StateMissing"
	// ReasonBackendChanged: the spec names another backend than the one that has the state. Nothing
	// runs until "yuba state migrate" has moved it.
	ReasonBackendChanged = "BackendChanged"
	// ReasonStateUnreadable: the state Secret does not contain a state. Yuba never overwrites it.
	ReasonStateUnreadable = "StateUnreadable"
	// ReasonDoneByHand: somebody changed the state or opened a shell (`yuba state`, `yuba shell`).
	// Only in events.
	ReasonDoneByHand = "DoneByHand"
	// ReasonCircuitOpen: many stacks fail for the same reason, and a circuit breaker pauses this
	// one; the reason of the condition Paused.
	ReasonCircuitOpen = "CircuitOpen"
	// ReasonStateTakenOver: the state belonged to a deleted stack, and nobody has approved a plan
	// on it yet.
	ReasonStateTakenOver = "StateTakenOver"
	// ReasonPullRequestReleased: the stack is as its source says again, after it ran the commit of a pull
	// request.
	ReasonPullRequestReleased = "PullRequestReleased"
	// ReasonInvalidName: the object uses a name that Kubernetes does not allow. Change it to
	// continue.
	ReasonInvalidName = "InvalidName"
	// ReasonApplyCutOff: an apply was interrupted, and no state proves what it did; the reason of
	// the condition ResourcesUnproven.
	ReasonApplyCutOff = "ApplyCutOff"
	// ReasonResourcesProven: states now prove what an interrupted apply did, or somebody
	// acknowledged it. Only in events.
	ReasonResourcesProven = "ResourcesProven"
	// ReasonStateMoved: somebody else wrote the state after the plan was made.
	ReasonStateMoved = "StateMoved"
)
