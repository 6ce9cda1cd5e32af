// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PlatformStatus is the observed state of a platform.
type PlatformStatus struct {
	// The generation of the object that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The request of the annotation reconcile.fluxcd.io/requestedAt that was handled last.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// How many phases are ready, such as 5/7. For tables: programs should read phases.
	// +optional
	Progress string `json:"progress,omitempty"`

	// The phases of all regions, in their order.
	// +listType=map
	// +listMapKey=name
	// +optional
	Phases []PlatformPhaseStatus `json:"phases,omitempty"`

	// The resources that a removal has found and has not removed yet, or cannot remove.
	// +listType=map
	// +listMapKey=stack
	// +optional
	Remaining []PlatformRemains `json:"remaining,omitempty"`

	// The addresses of the platform, from outputs of its stacks that are not sensitive.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Endpoints []PlatformEndpoint `json:"endpoints,omitempty"`

	// With domain.mode Manual: the DNS records that people create, and whether they exist.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Records []PlatformRecord `json:"records,omitempty"`

	// When the platform was first ready.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`

	// The conditions. Ready is True while all phases are ready; its reason says what the platform waits for.
	// RecordsPresent is of domain.mode Manual: True while all records exist, and Unknown if Yuba cannot ask for them.
	// DomainHeld is False while another platform has the DNS name.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PlatformPhaseState is the state of a phase.
// +kubebuilder:validation:Enum=Waiting;Planning;AwaitingApproval;Applying;Ready;Failed;Suspended;Removing;Away
type PlatformPhaseState string

const (
	// PhaseWaiting: an earlier phase is not ready.
	PhaseWaiting PlatformPhaseState = "Waiting"
	// PhasePlanning: a plan is being made.
	PhasePlanning PlatformPhaseState = "Planning"
	// PhaseAwaitingApproval: a plan waits for approval.
	PhaseAwaitingApproval PlatformPhaseState = "AwaitingApproval"
	// PhaseApplying: a plan is being applied.
	PhaseApplying PlatformPhaseState = "Applying"
	// PhaseReady: it is as the blueprint says.
	PhaseReady PlatformPhaseState = "Ready"
	// PhaseFailed: the last attempt failed. Yuba retries, unless the message says otherwise.
	PhaseFailed PlatformPhaseState = "Failed"
	// PhaseSuspended: somebody has suspended it.
	PhaseSuspended PlatformPhaseState = "Suspended"
	// PhaseRemoving: the blueprint does not want it any more.
	PhaseRemoving PlatformPhaseState = "Removing"
	// PhaseAway: the stack was moved or handed over to somebody else, or is being so. The platform leaves it alone,
	// and does not make it again.
	PhaseAway PlatformPhaseState = "Away"
)

// PlatformPhaseStatus is the state of a phase in a region.
type PlatformPhaseStatus struct {
	// REGION/PHASE, or REGION/COMPONENT.
	Name string `json:"name"`
	// The region that it belongs to.
	Region string `json:"region"`
	// The phase; components for a component.
	Phase PlatformPhaseName `json:"phase"`
	// The name of the component, if it is one.
	// +optional
	Component string `json:"component,omitempty"`
	// The stack of the phase, in the platform's namespace; empty for a phase that waits for people.
	Stack string `json:"stack"`
	// The state of the phase.
	State PlatformPhaseState `json:"state"`
	// The message of the stack about its state.
	// +optional
	Message string `json:"message,omitempty"`
	// The phases that must be ready before it, and are not.
	// +listType=atomic
	// +optional
	WaitsFor []string `json:"waitsFor,omitempty"`
	// The plan that waits for approval.
	// +optional
	Plan string `json:"plan,omitempty"`
	// The changes of the last plan, such as +2 ~1 -0.
	// +optional
	Changes string `json:"changes,omitempty"`
	// The id of the current run, else of the last one.
	// +optional
	Run string `json:"run,omitempty"`
	// When work on it first began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// When it was first ready.
	// +optional
	ReadyAt *metav1.Time `json:"readyAt,omitempty"`
	// How many attempts failed since the last success.
	// +optional
	Failures int64 `json:"failures,omitempty"`
}

// PlatformRemains is what is left of a stack that is being removed.
type PlatformRemains struct {
	// The name of the stack.
	Stack string `json:"stack"`
	// REGION/PHASE, or REGION/COMPONENT.
	Phase string `json:"phase"`
	// How many resources the stack still has, as of its last apply.
	// +optional
	Count int64 `json:"count,omitempty"`
	// The first 20 resources, as TYPE.NAME (ID).
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +optional
	Resources []string `json:"resources,omitempty"`
	// Why they are not removed yet.
	// +optional
	Message string `json:"message,omitempty"`
}

// PlatformEndpoint is an address of a platform.
type PlatformEndpoint struct {
	// The meaning of the address, such as the name of an output.
	Name string `json:"name"`
	// The region of the address, if it belongs to one.
	// +optional
	Region string `json:"region,omitempty"`
	// The address itself, such as a URL.
	Address string `json:"address"`
}

// PlatformRecordState says whether a record exists.
// +kubebuilder:validation:Enum=Present;Missing;Unknown
type PlatformRecordState string

const (
	// RecordPresent: the resolver has the record as it should be.
	RecordPresent PlatformRecordState = "Present"
	// RecordMissing: the resolver does not have the record, or has another one.
	RecordMissing PlatformRecordState = "Missing"
	// RecordUnknown: the resolver cannot be asked.
	RecordUnknown PlatformRecordState = "Unknown"
)

// PlatformRecord is a DNS record that people create.
type PlatformRecord struct {
	// The name, without the final dot.
	Name string `json:"name"`
	// A or AAAA.
	Type string `json:"type"`
	// The region of the addresses.
	Region string `json:"region"`
	// The addresses.
	// +listType=atomic
	Addresses []string `json:"addresses"`
	// Whether the resolver has it.
	State PlatformRecordState `json:"state"`
	// The answer of the resolver if the record is not there, or why the resolver cannot be asked. Empty before the first answer.
	// +optional
	Message string `json:"message,omitempty"`
}

// ConditionRecordsPresent is the condition of platforms whose records people create.
const ConditionRecordsPresent = "RecordsPresent"

// ConditionDomainHeld is the condition of platforms that says whether they have their DNS name. False has the reason
// DomainTaken.
const ConditionDomainHeld = "DomainHeld"

// ReasonPlatformDomainHeld says that the platform has its DNS name.
const ReasonPlatformDomainHeld = "Held"

// Reasons of the condition RecordsPresent.
const (
	// ReasonRecordsPresent: the resolver has all records.
	ReasonRecordsPresent = "AllPresent"
	// ReasonRecordsMissing: records are missing or wrong.
	ReasonRecordsMissing = "RecordsMissing"
	// ReasonRecordsAsked: the resolver is asked for the first time.
	ReasonRecordsAsked = "Asking"
	// ReasonRecordsUnknown: the resolver cannot be asked.
	ReasonRecordsUnknown = "CannotCheck"
)

// Reasons of the condition Ready of platforms, and of their events.
const (
	// ReasonPlatformReady: all phases are ready.
	ReasonPlatformReady = "AllPhasesReady"
	// ReasonPlatformProgressing: phases are being planned or applied.
	ReasonPlatformProgressing = "Progressing"
	// ReasonPlatformApproval: the next step is an approval.
	ReasonPlatformApproval = "ApprovalRequired"
	// ReasonPlatformPhaseFailed: a phase has failed.
	ReasonPlatformPhaseFailed = "PhaseFailed"
	// ReasonPlatformInvalid: the blueprint cannot be made as it is written.
	ReasonPlatformInvalid = "InvalidBlueprint"
	// ReasonPlatformDomainTaken: another platform has the DNS name.
	ReasonPlatformDomainTaken = "DomainTaken"
	// ReasonPlatformNameTaken: a stack of that name exists and belongs to somebody else.
	ReasonPlatformNameTaken = "StackNameTaken"
	// ReasonPlatformCredentials: a Secret that the blueprint names does not exist.
	ReasonPlatformCredentials = "CredentialsMissing"
	// ReasonPlatformRemoving: regions or components are being removed.
	ReasonPlatformRemoving = "Removing"
	// ReasonPlatformAway: all other phases are ready, and somebody else has the stack of one.
	ReasonPlatformAway = "PhaseAway"
	// ReasonPlatformMoved: "yuba move" has brought the platform to another home, or is bringing it here.
	ReasonPlatformMoved = "Moved"
	// ReasonPlatformDecommissioned: nothing of the platform is left.
	ReasonPlatformDecommissioned = "Decommissioned"
	// ReasonPlatformSuspended: spec.suspend is set.
	ReasonPlatformSuspended = "Suspended"
	// ReasonPlatformPhaseReady is of events only: a phase is ready.
	ReasonPlatformPhaseReady = "PhaseReady"
)

// GetConditions returns the conditions of the status.
func (p *Platform) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the conditions of the status.
func (p *Platform) SetConditions(conditions []metav1.Condition) { p.Status.Conditions = conditions }
