// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxWarnings bounds status.warnings.
const MaxWarnings = 32

// TerraformStatus is what was last seen of a stack. To server-side apply it is one value: it has one writer, and keeping a list of who
// owns which of its fields took more memory and time than all else that the API does for a stack.
// +structType=atomic
type TerraformStatus struct {
	meta.ReconcileRequestStatus `json:",inline"`

	// The generation of the object that the status is about; -1 before anybody looked at it.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The stack's conditions: Ready, Reconciling, Stalled, Plan, Apply, Output, HealthCheck,
	// StateLocked and Paused.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The revision of the source that was applied last, such as main@sha1:1a2b3c4d.
	// +optional
	LastAppliedRevision string `json:"lastAppliedRevision,omitempty"`

	// The revision of the source that was last worked on.
	// +optional
	LastAttemptedRevision string `json:"lastAttemptedRevision,omitempty"`

	// The revision of the source that was last planned, with or without changes.
	// +optional
	LastPlannedRevision string `json:"lastPlannedRevision,omitempty"`

	// The generation of the object that was last planned. When it is older than the object, the pending plan is stale.
	// +optional
	LastPlannedGeneration int64 `json:"lastPlannedGeneration,omitempty"`

	// When the last plan was made.
	// +optional
	LastPlanAt *metav1.Time `json:"lastPlanAt,omitempty"`

	// When the stack was last found to be, or made to be, as its object says.
	// +optional
	LastSuccessfulReconcileAt *metav1.Time `json:"lastSuccessfulReconcileAt,omitempty"`

	// When drift was last found.
	// +optional
	LastDriftDetectedAt *metav1.Time `json:"lastDriftDetectedAt,omitempty"`

	// When a plan that repairs drift was last applied.
	// +optional
	LastAppliedByDriftDetectionAt *metav1.Time `json:"lastAppliedByDriftDetectionAt,omitempty"`

	// (Yuba) When drift was last looked for, whether or not any was found.
	// +optional
	LastDriftCheckAt *metav1.Time `json:"lastDriftCheckAt,omitempty"`

	// The names of the outputs of the last apply.
	// +optional
	AvailableOutputs []string `json:"availableOutputs,omitempty"`

	// (Yuba) A digest of all outputs of the last apply, which tells whether one has changed. Stacks that depend on this
	// one are planned again when it does.
	// +optional
	OutputsDigest string `json:"outputsDigest,omitempty"`

	// (Yuba) The Secret that the outputs were written to, so that it goes when another one, or none, is wanted.
	// +optional
	OutputsSecret string `json:"outputsSecret,omitempty"`

	// The plan that waits, and the one that was applied last.
	// +optional
	Plan PlanStatus `json:"plan,omitempty,omitzero"`

	// The resources that the stack manages, with spec.enableInventory.
	// +optional
	Inventory *ResourceInventory `json:"inventory,omitempty"`

	// The lock that is in the way, and the one that was broken last.
	// +optional
	Lock LockStatus `json:"lock,omitempty,omitzero"`

	// How many failures there were since the last success or change.
	// +optional
	ReconciliationFailures int64 `json:"reconciliationFailures,omitempty"`

	// (Yuba) The run that is queued or at work.
	// +optional
	CurrentRun *RunReference `json:"currentRun,omitempty"`

	// (Yuba) The run that ended last.
	// +optional
	LastRun *RunReference `json:"lastRun,omitempty"`

	// (Yuba) The program that was applied last. It is kept so that the stack can be destroyed when its source is gone.
	// +optional
	LastAppliedArtifact *ArtifactReference `json:"lastAppliedArtifact,omitempty"`

	// (Yuba) The run that was applied last. Its inputs are kept so that the stack can be destroyed when they are gone.
	// +optional
	LastAppliedRun string `json:"lastAppliedRun,omitempty"`

	// (Yuba) The digest of everything that goes into a run (program, tool, variables, environment, backend, state) at the
	// last pass that came to a conclusion. While it stays the same there is nothing to plan.
	// +optional
	ConfigDigest string `json:"configDigest,omitempty"`

	// (Yuba) The serial of the state as Yuba last knew it. A state with another serial was changed by somebody else.
	// +optional
	StateSerial *int64 `json:"stateSerial,omitempty"`

	// (Yuba) What is not wrong enough to stop for: variables that the module does not declare, fields without effect.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Warnings []string `json:"warnings,omitempty"`
}

// PlanStatus is about the plan that waits for approval or for its apply, and the one that was applied last.
type PlanStatus struct {
	// The id of the plan that was applied last.
	// +optional
	LastApplied string `json:"lastApplied,omitempty"`

	// The id of the plan that waits. Put it into spec.approvePlan to approve it.
	// +optional
	Pending string `json:"pending,omitempty"`

	// Whether the plan destroys everything that the stack manages.
	// +optional
	IsDestroyPlan bool `json:"isDestroyPlan,omitempty"`

	// Whether the plan was made to repair drift.
	// +optional
	IsDriftDetectionPlan bool `json:"isDriftDetectionPlan,omitempty"`

	// (Yuba) What the last plan does: how many resources it adds, changes and destroys, such as "+2 ~1 -0".
	// +optional
	Summary string `json:"summary,omitempty"`

	// (Yuba) The digest of the pending plan's file, as sha256:HEX. What is applied has exactly this digest.
	// +optional
	Digest string `json:"digest,omitempty"`

	// (Yuba) The digest of the pending plan's changes to resources and outputs, in a normal form. Two plans with the same
	// one do the same, so that the approval of one carries over to the other.
	// +optional
	ChangesDigest string `json:"changesDigest,omitempty"`

	// (Yuba) The run that made the pending plan; its files are kept there.
	// +optional
	RunID string `json:"runID,omitempty"`

	// (Yuba) The id that the first plan of the last planned revision got; later ones append -2, -3 and so on.
	// +optional
	Base string `json:"base,omitempty"`
	// (Yuba) How many plans of other content the revision has had, for their ids.
	// +optional
	Sequence int32 `json:"sequence,omitempty"`

	// (Yuba) The form in which the last plan was stored beside itself, as spec.storeReadablePlan asked: json or human.
	// +optional
	Readable string `json:"readable,omitempty"`

	// (Yuba) The circuit breaker because of which the pending plan waits for a person although plans are applied by
	// themselves. Approve it with "yuba approve".
	// +optional
	HeldBy string `json:"heldBy,omitempty"`

	// (Yuba) Whether the pending plan is approved.
	// +optional
	Approved bool `json:"approved,omitempty"`

	// (Yuba) The id of the plan that was rejected last. It is not applied, also not with "auto".
	// +optional
	Rejected string `json:"rejected,omitempty"`
}

// LockStatus is about the lock of the state.
type LockStatus struct {
	// The id of the lock that was broken last.
	// +optional
	LastApplied string `json:"lastApplied,omitempty"`

	// The id of the lock that somebody else holds.
	// +optional
	Pending string `json:"pending,omitempty"`
}

// ResourceInventory lists what a stack manages.
type ResourceInventory struct {
	// The resources, in the order of the state.
	// +required
	Entries []ResourceRef `json:"entries"`
}

// ResourceRef names one resource that a stack manages.
type ResourceRef struct {
	// The resource's name in the program.
	// +required
	Name string `json:"n"`

	// The resource's type, such as aws_vpc.
	// +required
	Type string `json:"t"`

	// What the provider calls the resource, such as its ARN.
	// +required
	Identifier string `json:"id"`
}

// RunReference names a run and says how it stands. Its record, log and plan are read with "yuba runs" and "yuba logs".
type RunReference struct {
	// The run's id. Ids sort by time.
	// +required
	ID string `json:"id"`

	// What the run does, such as plan, apply or plan-and-apply.
	// +optional
	Operation string `json:"operation,omitempty"`

	// How the run stands: queued, running, succeeded, failed, interrupted or another final status.
	// +optional
	Status string `json:"status,omitempty"`

	// When the run was started.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// When the run ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}

// ArtifactReference names a program's archive.
type ArtifactReference struct {
	// The digest of the archive, as sha256:HEX.
	// +required
	Digest string `json:"digest"`

	// The revision of the source that the archive was made from.
	// +optional
	Revision string `json:"revision,omitempty"`

	// The directory of the root module in it, as spec.path was then.
	// +optional
	Path string `json:"path,omitempty"`
}
