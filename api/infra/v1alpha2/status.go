// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MaxWarnings bounds status.warnings.
const MaxWarnings = 32

// TerraformStatus is the observed state of a stack. It is one value for server-side apply, because
// only the server writes it: field ownership cost more memory and time than everything else that
// the API does for a stack.
// +structType=atomic
type TerraformStatus struct {
	meta.ReconcileRequestStatus `json:",inline"`

	// The generation of the object that the status describes; -1 before the first observation.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The stack's conditions: Ready, Reconciling, Stalled, Plan, Apply, Output, HealthCheck,
	// StateLocked, Paused and ResourcesUnproven.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// (Yuba) A summary of the status in at most 48 characters, such as "Applied", "Waiting for
	// dev/network" or "Plan pending: +1 ~0 -0". For tables: the words may change, so programs
	// should read the conditions.
	// +optional
	Summary string `json:"summary,omitempty"`

	// The revision of the source that Yuba last applied, such as main@sha1:1a2b3c4d.
	// +optional
	LastAppliedRevision string `json:"lastAppliedRevision,omitempty"`

	// The revision of the source that Yuba last attempted to reconcile.
	// +optional
	LastAttemptedRevision string `json:"lastAttemptedRevision,omitempty"`

	// The revision of the source that Yuba last planned, with or without changes.
	// +optional
	LastPlannedRevision string `json:"lastPlannedRevision,omitempty"`

	// The generation of the object that Yuba last planned. If it is older than the object, the
	// pending plan is stale.
	// +optional
	LastPlannedGeneration int64 `json:"lastPlannedGeneration,omitempty"`

	// The time of the last plan.
	// +optional
	LastPlanAt *metav1.Time `json:"lastPlanAt,omitempty"`

	// When the stack last matched its spec, with or without an apply. While nothing changes, Yuba
	// updates it about once an hour.
	// +optional
	LastSuccessfulReconcileAt *metav1.Time `json:"lastSuccessfulReconcileAt,omitempty"`

	// When Yuba last found drift.
	// +optional
	LastDriftDetectedAt *metav1.Time `json:"lastDriftDetectedAt,omitempty"`

	// When Yuba last applied a plan that repairs drift.
	// +optional
	LastAppliedByDriftDetectionAt *metav1.Time `json:"lastAppliedByDriftDetectionAt,omitempty"`

	// (Yuba) The time of the last drift check, whether or not it found drift. While nothing
	// changes, Yuba updates it about once an hour; "yuba runs" lists every drift check.
	// +optional
	LastDriftCheckAt *metav1.Time `json:"lastDriftCheckAt,omitempty"`

	// The names of the outputs of the last apply.
	// +optional
	AvailableOutputs []string `json:"availableOutputs,omitempty"`

	// (Yuba) A digest of all outputs of the last apply. When it changes, Yuba plans the stacks that
	// depend on this one.
	// +optional
	OutputsDigest string `json:"outputsDigest,omitempty"`

	// (Yuba) The Secret with the outputs. Yuba deletes it when spec.writeOutputsToSecret names
	// another one, or none.
	// +optional
	OutputsSecret string `json:"outputsSecret,omitempty"`

	// (Yuba) A digest of the outputs in that Secret that are not sensitive. Logs and plans of other
	// stacks show them only while the Secret matches it.
	// +optional
	OpenOutputsDigest string `json:"openOutputsDigest,omitempty"`

	// (Yuba) What the stack publishes and consumes. See spec.publishes and spec.consumes.
	// +optional
	Contracts *ContractsStatus `json:"contracts,omitempty"`

	// The pending plan, and the last applied plan.
	// +optional
	Plan PlanStatus `json:"plan,omitempty,omitzero"`

	// The resources that the stack manages, with spec.enableInventory.
	// +optional
	Inventory *ResourceInventory `json:"inventory,omitempty"`

	// The lock that blocks the stack, and the last lock that was broken.
	// +optional
	Lock LockStatus `json:"lock,omitempty,omitzero"`

	// How many attempts failed since the last success or change. Attempts that failed before a run
	// could begin count only with spec.remediation or ExponentialBackoff.
	// +optional
	ReconciliationFailures int64 `json:"reconciliationFailures,omitempty"`

	// (Yuba) When an attempt last failed before a run could begin, because of its artifact or
	// inputs. Set only with spec.remediation or ExponentialBackoff.
	// +optional
	LastFailedAttemptAt *metav1.Time `json:"lastFailedAttemptAt,omitempty"`

	// (Yuba) The run that is queued or active.
	// +optional
	CurrentRun *RunReference `json:"currentRun,omitempty"`

	// (Yuba) The run that ended last.
	// +optional
	LastRun *RunReference `json:"lastRun,omitempty"`

	// (Yuba) The last applied program. Yuba keeps it to destroy the stack if the source is gone.
	// +optional
	LastAppliedArtifact *ArtifactReference `json:"lastAppliedArtifact,omitempty"`

	// (Yuba) The last run whose apply failed or was interrupted. Cleared when an apply succeeds or
	// a plan finds nothing to change.
	// +optional
	LastFailedApply *RunReference `json:"lastFailedApply,omitempty"`

	// (Yuba) The run that was last applied. Yuba keeps its inputs to destroy the stack if they are
	// gone.
	// +optional
	LastAppliedRun string `json:"lastAppliedRun,omitempty"`

	// (Yuba) The digest of all inputs of a run (program, tool, variables, environment, backend,
	// state) at the last conclusive reconciliation. While it stays the same, there is nothing to
	// plan.
	// +optional
	ConfigDigest string `json:"configDigest,omitempty"`

	// (Yuba) Information about modules from outside of the source: whether a commit that touches
	// nothing else of the stack can change its plan.
	// +optional
	Modules *ModulesStatus `json:"modules,omitempty"`

	// (Yuba) The serial of the state as Yuba last knew it. If the state has another serial,
	// somebody else changed it.
	// +optional
	StateSerial *int64 `json:"stateSerial,omitempty"`

	// (Yuba) Where the state is, for a stack with a custom backend, and for one that had one. When
	// the spec names another place, nothing runs until "yuba state migrate" has moved the state.
	// +optional
	Backend *BackendStatus `json:"backend,omitempty"`

	// (Yuba) The deleted stack whose state this one adopted. While it is set, plans wait for
	// approval, even with approvePlan: auto. Cleared when an approved plan was applied, or a plan
	// found nothing to change.
	// +optional
	TakenOver *StateTakeover `json:"takenOver,omitempty"`

	// (Yuba) Resources that interrupted applies may have created or destroyed, until a state proves
	// them or somebody acknowledges them.
	// +optional
	Unproven *UnprovenStatus `json:"unproven,omitempty"`

	// (Yuba) The UID that the stack had before "yuba move" moved it here. The digests in the status
	// depend on it, so that they prove that a moved stack is unchanged.
	// +optional
	OriginUID types.UID `json:"originUID,omitempty"`

	// (Yuba) A digest of the last value of the annotation yuba.dev/acknowledged that Yuba acted on.
	// Each value counts once.
	// +optional
	LastHandledAcknowledgement string `json:"lastHandledAcknowledgement,omitempty"`

	// (Yuba) Problems that do not stop a run, such as variables that the module does not declare,
	// or fields without effect.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Warnings []string `json:"warnings,omitempty"`
}

// ModulesStatus describes modules outside of the source that a program calls, also indirectly.
type ModulesStatus struct {
	// The digest of the configuration that calls them.
	// +optional
	ConfigDigest string `json:"configDigest,omitempty"`

	// The first module call whose content may change, by its place in the program. Empty when each
	// call names a commit of a git repository, or one version of a module in a registry.
	// +optional
	Moves string `json:"moves,omitempty"`

	// Why the modules may read any file of the source. Empty when they only read files in the root
	// module's directory.
	// +optional
	Whole string `json:"whole,omitempty"`

	// External data that the modules read while planning, such as HTTP responses or the time.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	World []string `json:"world,omitempty"`

	// A digest of the package that each call resolved to. If a commit changes no other input of the
	// stack, Yuba plans it only when this digest has changed.
	// +optional
	Placed string `json:"placed,omitempty"`
}

// PlanStatus describes the pending plan and the last applied plan.
type PlanStatus struct {
	// The id of the last applied plan.
	// +optional
	LastApplied string `json:"lastApplied,omitempty"`

	// The users whose recorded approvals the last applied plan had, with commas between them. Empty
	// if the API recorded none.
	// +optional
	LastApprovedBy string `json:"lastApprovedBy,omitempty"`

	// The id of the pending plan. Set spec.approvePlan to it to approve the plan.
	// +optional
	Pending string `json:"pending,omitempty"`

	// Whether the plan destroys everything that the stack manages.
	// +optional
	IsDestroyPlan bool `json:"isDestroyPlan,omitempty"`

	// Whether the plan was made to repair drift.
	// +optional
	IsDriftDetectionPlan bool `json:"isDriftDetectionPlan,omitempty"`

	// (Yuba) The changes of the last plan: how many resources it adds, changes and destroys, such
	// as "+2 ~1 -0".
	// +optional
	Summary string `json:"summary,omitempty"`

	// (Yuba) Whether the pending plan is that of a deletion: it destroys the resources before the object
	// is removed.
	// +optional
	IsDeletionPlan bool `json:"isDeletionPlan,omitempty"`

	// (Yuba) The digest of the pending plan's file, as sha256:HEX. Yuba applies only a plan with
	// this digest.
	// +optional
	Digest string `json:"digest,omitempty"`

	// (Yuba) The digest of the pending plan's changes to resources and outputs, normalized. Plans
	// with the same digest make the same changes, so an approval carries over from one to the
	// other.
	// +optional
	ChangesDigest string `json:"changesDigest,omitempty"`

	// (Yuba) The run that made the pending plan and keeps its files.
	// +optional
	RunID string `json:"runID,omitempty"`

	// (Yuba) The id of the first plan of the last planned revision. Later plans append -2, -3 and
	// so on.
	// +optional
	Base string `json:"base,omitempty"`
	// (Yuba) How many plans with different content the revision has had; used for plan ids.
	// +optional
	Sequence int32 `json:"sequence,omitempty"`

	// (Yuba) The readable form in which the last plan was also stored, as set by
	// spec.storeReadablePlan: json or human.
	// +optional
	Readable string `json:"readable,omitempty"`

	// (Yuba) The circuit breaker that holds the pending plan for approval although approvePlan is
	// "auto". Approve it with "yuba approve".
	// +optional
	HeldBy string `json:"heldBy,omitempty"`

	// (Yuba) What policies say about the pending plan.
	// +optional
	Policy *PolicyVerdict `json:"policy,omitempty"`

	// (Yuba) The revisions that the pending plan read, and whether it keeps the contracts that the
	// stack publishes.
	// +optional
	Contracts *PlanContracts `json:"contracts,omitempty"`

	// (Yuba) The approvals of the pending plan that the API has recorded, for policies that ask for
	// them. "yuba approve" gives one.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +optional
	Approvals []PlanApproval `json:"approvals,omitempty"`

	// (Yuba) Whether the pending plan is approved.
	// +optional
	Approved bool `json:"approved,omitempty"`

	// (Yuba) The id of the last rejected plan. Yuba does not apply it, even with "auto".
	// +optional
	Rejected string `json:"rejected,omitempty"`
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

	// The identifier of the resource at the provider, such as its ARN.
	// +required
	Identifier string `json:"id"`
}

// MaxUnproven bounds status.unproven.resources, MaxUnprovenRuns status.unproven.runs.
const (
	MaxUnproven     = 100
	MaxUnprovenRuns = 50
)

// UnprovenStatus lists resources that may exist, or be gone, without a state that proves it.
type UnprovenStatus struct {
	// The runs whose applies were interrupted, oldest first, at most 50. "yuba runs" has the whole
	// list of each.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +required
	Runs []UnprovenRun `json:"runs"`

	// The resources, at most 100.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Resources []UnprovenResource `json:"resources,omitempty"`
}

// UnprovenRun is a run whose apply was interrupted.
type UnprovenRun struct {
	// The run's id.
	// +required
	ID string `json:"id"`

	// How many resources of its list the status names, starting with the first.
	// +optional
	Named int64 `json:"named,omitempty"`

	// How many more resources its list has.
	// +optional
	More int64 `json:"more,omitempty"`

	// How many older runs this entry also counts. Set on the first entry only, if there are more
	// than 50 runs.
	// +optional
	OlderRuns int64 `json:"olderRuns,omitempty"`

	// An identifier of the state that the run used. No other state proves resources of its list.
	// +optional
	State string `json:"state,omitempty"`

	// Whether a later run created a resource that this run may also have created.
	// +optional
	Remade bool `json:"remade,omitempty"`

	// A note on the list, such as that the plan is lost.
	// +optional
	Note string `json:"note,omitempty"`
}

// UnprovenResource is a resource that may exist, or be gone, without a state that proves it.
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

	// The run whose apply was interrupted.
	// +required
	Run string `json:"run"`

	// Whether it may exist although the state does not have it.
	// +optional
	MayExist bool `json:"mayExist,omitempty"`

	// Whether the object may be gone although the state has it.
	// +optional
	MayBeGone bool `json:"mayBeGone,omitempty"`

	// Whether the state has, or may have, an earlier object at this address. Then only an object
	// whose id differs from replacedID proves that the state has the new one.
	// +optional
	Replaces bool `json:"replaces,omitempty"`

	// The id of the earlier object, empty when it is not known.
	// +optional
	ReplacedID string `json:"replacedID,omitempty"`

	// Whether the run's log says that the object was created or destroyed.
	// +optional
	Certain bool `json:"certain,omitempty"`

	// Whether any number of instances may exist, because the plan is lost and the program declares
	// the resource.
	// +optional
	Many bool `json:"many,omitempty"`

	// Whether Yuba could not yet read a state of the run.
	// +optional
	StateUnread bool `json:"stateUnread,omitempty"`

	// What may have happened to the object, in readable form.
	// +optional
	Doubt string `json:"doubt,omitempty"`

	// The later run that created the resource again: the state has the new one, and the first may
	// exist as well.
	// +optional
	RemadeBy string `json:"remadeBy,omitempty"`
}

// RunReference names a run and its status. Use "yuba runs" and "yuba logs" for its record, log and
// plan.
type RunReference struct {
	// The run's id. Ids sort by time.
	// +required
	ID string `json:"id"`

	// What the run does, such as plan, apply or plan-and-apply.
	// +optional
	Operation string `json:"operation,omitempty"`

	// The status of the run: queued, running, succeeded, failed, interrupted or another final
	// status.
	// +optional
	Status string `json:"status,omitempty"`

	// When the run was started.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// When the run ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}

// ArtifactReference identifies the archive of a program.
type ArtifactReference struct {
	// The digest of the archive, as sha256:HEX.
	// +required
	Digest string `json:"digest"`

	// The revision of the source that the archive was made from.
	// +optional
	Revision string `json:"revision,omitempty"`

	// The directory of the root module in the archive: the value of spec.path at that time.
	// +optional
	Path string `json:"path,omitempty"`
}
