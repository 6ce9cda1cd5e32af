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
	// StateLocked, Paused and ResourcesUnproven.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// (Yuba) How the stack stands in a few words, 48 characters at most, such as "Applied", "Waiting for dev/network" or
	// "Plan pending: +1 ~0 -0". Tables show it. Its words may change: programs read the conditions.
	// +optional
	Summary string `json:"summary,omitempty"`

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

	// When the stack was last found to be, or made to be, as its object says. While nothing changes it is written about
	// once an hour.
	// +optional
	LastSuccessfulReconcileAt *metav1.Time `json:"lastSuccessfulReconcileAt,omitempty"`

	// When drift was last found.
	// +optional
	LastDriftDetectedAt *metav1.Time `json:"lastDriftDetectedAt,omitempty"`

	// When a plan that repairs drift was last applied.
	// +optional
	LastAppliedByDriftDetectionAt *metav1.Time `json:"lastAppliedByDriftDetectionAt,omitempty"`

	// (Yuba) When drift was last looked for, whether or not any was found. While nothing changes it is written about once
	// an hour; "yuba runs" has every drift check.
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

	// (Yuba) A digest of the outputs in that Secret that are not sensitive. Logs and plans of other stacks show them only while the
	// Secret matches it.
	// +optional
	OpenOutputsDigest string `json:"openOutputsDigest,omitempty"`

	// The plan that waits, and the one that was applied last.
	// +optional
	Plan PlanStatus `json:"plan,omitempty,omitzero"`

	// The resources that the stack manages, with spec.enableInventory.
	// +optional
	Inventory *ResourceInventory `json:"inventory,omitempty"`

	// The lock that is in the way, and the one that was broken last.
	// +optional
	Lock LockStatus `json:"lock,omitempty,omitzero"`

	// How many attempts failed since the last success or change. Those that failed before a run could begin are counted
	// with spec.remediation or a growing retry interval only.
	// +optional
	ReconciliationFailures int64 `json:"reconciliationFailures,omitempty"`

	// (Yuba) When an attempt last failed before a run could begin: its artifact or its inputs were not usable. Kept where
	// spec.remediation or a growing retry interval depends on it.
	// +optional
	LastFailedAttemptAt *metav1.Time `json:"lastFailedAttemptAt,omitempty"`

	// (Yuba) The run that is queued or at work.
	// +optional
	CurrentRun *RunReference `json:"currentRun,omitempty"`

	// (Yuba) The run that ended last.
	// +optional
	LastRun *RunReference `json:"lastRun,omitempty"`

	// (Yuba) The program that was applied last. It is kept so that the stack can be destroyed when its source is gone.
	// +optional
	LastAppliedArtifact *ArtifactReference `json:"lastAppliedArtifact,omitempty"`

	// (Yuba) The run whose apply failed or was interrupted last. It goes when an apply succeeds or a plan finds nothing to
	// change.
	// +optional
	LastFailedApply *RunReference `json:"lastFailedApply,omitempty"`

	// (Yuba) The run that was applied last. Its inputs are kept so that the stack can be destroyed when they are gone.
	// +optional
	LastAppliedRun string `json:"lastAppliedRun,omitempty"`

	// (Yuba) The digest of everything that goes into a run (program, tool, variables, environment, backend, state) at the
	// last pass that came to a conclusion. While it stays the same there is nothing to plan.
	// +optional
	ConfigDigest string `json:"configDigest,omitempty"`

	// (Yuba) What is known of the modules from elsewhere that the program calls. It tells whether a commit that touches nothing
	// else of the stack can change its plan.
	// +optional
	Modules *ModulesStatus `json:"modules,omitempty"`

	// (Yuba) The serial of the state as Yuba last knew it. A state with another serial was changed by somebody else.
	// +optional
	StateSerial *int64 `json:"stateSerial,omitempty"`

	// (Yuba) The deleted stack whose state this one took over. While it is there, plans wait for approval, also with
	// approvePlan: auto. It goes when a plan was approved and applied, or found nothing to change.
	// +optional
	TakenOver *StateTakeover `json:"takenOver,omitempty"`

	// (Yuba) Resources that interrupted applies may have created or destroyed, until a state proves them or somebody
	// acknowledges them.
	// +optional
	Unproven *UnprovenStatus `json:"unproven,omitempty"`

	// (Yuba) A digest of the annotation yuba.dev/acknowledged as it was when it was acted on last. A value counts once.
	// +optional
	LastHandledAcknowledgement string `json:"lastHandledAcknowledgement,omitempty"`

	// (Yuba) Problems that do not stop a run: variables that the module does not declare, fields without effect.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Warnings []string `json:"warnings,omitempty"`
}

// ModulesStatus describes the modules outside of the source that a program calls, directly or through other modules.
type ModulesStatus struct {
	// The digest of the configuration that calls them.
	// +optional
	ConfigDigest string `json:"configDigest,omitempty"`

	// The first module call that may lead to other content next time, by its place in the program. Empty when each call
	// names a commit of a git repository, or one version of a module in a registry.
	// +optional
	Moves string `json:"moves,omitempty"`

	// Why the modules may read any file of the source. Empty when they only read files in the root module's directory.
	// +optional
	Whole string `json:"whole,omitempty"`

	// What the modules read from outside of the source while planning, such as HTTP responses or the current time.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	World []string `json:"world,omitempty"`

	// A digest of the package that each call resolved to. If a commit changes no other input of the stack, Yuba plans it only
	// when this digest has changed.
	// +optional
	Placed string `json:"placed,omitempty"`
}

// StateTakeover names a deleted stack that left its state behind.
type StateTakeover struct {
	// The name of the deleted stack. Its namespace is the stack's own.
	// +required
	Name string `json:"name"`

	// The UID of the deleted stack.
	// +required
	UID string `json:"uid"`

	// When the deleted stack was deleted, if that is known.
	// +optional
	DeletedAt *metav1.Time `json:"deletedAt,omitempty"`
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

// MaxUnproven bounds status.unproven.resources, MaxUnprovenRuns status.unproven.runs.
const (
	MaxUnproven     = 100
	MaxUnprovenRuns = 50
)

// UnprovenStatus lists resources that may exist although no state has them, or may be gone although the state has them.
type UnprovenStatus struct {
	// The runs whose applies were cut off, the oldest first, 50 at most. "yuba runs" has the whole list of each.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +required
	Runs []UnprovenRun `json:"runs"`

	// The resources, 100 at most.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Resources []UnprovenResource `json:"resources,omitempty"`
}

// UnprovenRun is a run whose apply was cut off.
type UnprovenRun struct {
	// The run's id.
	// +required
	ID string `json:"id"`

	// How many resources of its list the status names, from the first on.
	// +optional
	Named int64 `json:"named,omitempty"`

	// How many more there are.
	// +optional
	More int64 `json:"more,omitempty"`

	// How many older runs this entry counts, too. Set on the first entry only, once there are more than 50 runs.
	// +optional
	OlderRuns int64 `json:"olderRuns,omitempty"`

	// Stands for the state that the run worked on. No other state proves anything of its list.
	// +optional
	State string `json:"state,omitempty"`

	// Whether a later run created a resource that this run may also have created.
	// +optional
	Remade bool `json:"remade,omitempty"`

	// A note on the list, such as that the plan is lost.
	// +optional
	Note string `json:"note,omitempty"`
}

// UnprovenResource is a resource that may exist, or be gone, without any state proving it.
type UnprovenResource struct {
	// The address of the resource instance.
	// +required
	Address string `json:"address"`

	// A digest of the true address, when the address is masked.
	// +optional
	Match string `json:"match,omitempty"`

	// The resource's type, such as aws_vpc.
	// +optional
	Type string `json:"type,omitempty"`

	// The resource's id or name at the provider, as far as known.
	// +optional
	Object string `json:"object,omitempty"`

	// The run whose apply was cut off.
	// +required
	Run string `json:"run"`

	// Whether it may exist although the state does not have it.
	// +optional
	MayExist bool `json:"mayExist,omitempty"`

	// Whether the object may be gone although the state has it.
	// +optional
	MayBeGone bool `json:"mayBeGone,omitempty"`

	// Whether the state has, or may have, an earlier object at this address. Then only an object whose id differs from
	// replacedID proves that the state has the new one.
	// +optional
	Replaces bool `json:"replaces,omitempty"`

	// The id of the earlier object, empty when it is not known.
	// +optional
	ReplacedID string `json:"replacedID,omitempty"`

	// Whether the run's log says that the object was created or destroyed.
	// +optional
	Certain bool `json:"certain,omitempty"`

	// Whether any number of instances may exist: the plan is lost, and the program declares the resource.
	// +optional
	Many bool `json:"many,omitempty"`

	// Whether Yuba has not been able to read a state of the run so far.
	// +optional
	StateUnread bool `json:"stateUnread,omitempty"`

	// What may have happened to the object, as text for people.
	// +optional
	Doubt string `json:"doubt,omitempty"`

	// The later run that created the resource again: the state has the new one, and the first may exist as well.
	// +optional
	RemadeBy string `json:"remadeBy,omitempty"`
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
