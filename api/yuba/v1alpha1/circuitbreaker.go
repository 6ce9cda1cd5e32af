// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CircuitBreakerKind is the name of the kind.
const CircuitBreakerKind = "CircuitBreaker"

// AnnotationConcerns names the namespaces that an event concerns, comma-separated. Events only.
const AnnotationConcerns = "yuba.dev/concerns"

// CircuitBreaker represents an outage: many stacks that fail for the same reason. The server
// creates it when it detects an outage, and removes it some time after the end. While it is open,
// Yuba applies nothing automatically that it concerns. Create one with mode Open for maintenance.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=cb
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.state",description="Open, HalfOpen or Closed."
// +kubebuilder:printcolumn:name="Stacks",type="integer",JSONPath=".status.affected",description="How many stacks failed for the same reason."
// +kubebuilder:printcolumn:name="Opened",type="date",JSONPath=".status.openedAt",description="Time since it last opened."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="The message of the condition Ready."
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.mode) || self.spec.mode != 'Open' || has(self.spec.provider) || has(self.spec.namespaces) || has(self.status)",message="spec.mode Open wants spec.provider or spec.namespaces, so that it is known what is meant"
type CircuitBreaker struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state of the circuit breaker.
	// +optional
	Spec CircuitBreakerSpec `json:"spec,omitempty"`

	// The observed state of the outage. The server writes it.
	// +optional
	Status CircuitBreakerStatus `json:"status,omitempty,omitzero"`
}

// CircuitBreakerMode says who opens and closes a circuit breaker.
// +kubebuilder:validation:Enum=Automatic;Open;Closed
type CircuitBreakerMode string

const (
	// ModeAutomatic: the server opens and closes it.
	ModeAutomatic CircuitBreakerMode = "Automatic"
	// ModeOpen: a person keeps it open.
	ModeOpen CircuitBreakerMode = "Open"
	// ModeClosed: a person keeps it closed.
	ModeClosed CircuitBreakerMode = "Closed"
)

// CircuitBreakerSpec is the desired state of a circuit breaker.
type CircuitBreakerSpec struct {
	// Who opens and closes it. Automatic: the server, when it detects an outage and its end. Open:
	// it stays open regardless of what the server detects, without probes. Closed: it stays closed
	// regardless of failures.
	// +kubebuilder:default:=Automatic
	// +optional
	Mode CircuitBreakerMode `json:"mode,omitempty"`

	// With mode Open or Closed: the provider whose stacks it concerns, such as hashicorp/aws. Empty
	// in circuit breakers that the server creates; see the status for what it detected.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Provider string `json:"provider,omitempty"`

	// With mode Open: the namespaces whose stacks it concerns. Empty means all.
	// +kubebuilder:validation:MaxItems=100
	// +listType=set
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`
}

// CircuitBreakerState is the state of a circuit breaker.
type CircuitBreakerState string

const (
	// StateOpen: Yuba applies nothing automatically that it concerns.
	StateOpen CircuitBreakerState = "Open"
	// StateHalfOpen: like Open, but a probe has succeeded.
	StateHalfOpen CircuitBreakerState = "HalfOpen"
	// StateClosed: the outage is over.
	StateClosed CircuitBreakerState = "Closed"
)

// CircuitBreakerStatus is the observed state of an outage.
type CircuitBreakerStatus struct {
	// The generation of the object that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Open: Yuba applies nothing automatically that it concerns. HalfOpen: the same, but a probe
	// has succeeded. Closed: the outage is over.
	// +optional
	State CircuitBreakerState `json:"state,omitempty"`

	// When it last opened.
	// +optional
	OpenedAt *metav1.Time `json:"openedAt,omitempty"`

	// When it last closed.
	// +optional
	ClosedAt *metav1.Time `json:"closedAt,omitempty"`

	// When the server next plans a stack as a probe, to see whether the outage is over.
	// +optional
	NextProbeAt *metav1.Time `json:"nextProbeAt,omitempty"`

	// An identifier of the outage, computed from what the failures have in common. The same outage
	// has the same fingerprint.
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`

	// The provider that the failures have in common.
	// +optional
	Provider string `json:"provider,omitempty"`

	// The host that could not be reached, if the provider is not known.
	// +optional
	Host string `json:"host,omitempty"`

	// The cause that the failures have in common, if recognized: unavailable, throttled,
	// credentials, denied or certificate.
	// +optional
	Cause string `json:"cause,omitempty"`

	// The error text that the failures have in common, without names, numbers and addresses.
	// +optional
	Summary string `json:"summary,omitempty"`

	// The namespaces whose stacks it concerns. Empty means all.
	// +listType=set
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`

	// One of the failures, as the tool reported it.
	// +optional
	Sample string `json:"sample,omitempty"`

	// How many stacks failed for this reason since it opened.
	// +optional
	Affected int32 `json:"affected,omitempty"`

	// Some of the stacks that failed for this reason, as NAMESPACE/NAME.
	// +listType=atomic
	// +optional
	Stacks []string `json:"stacks,omitempty"`

	// The namespaces of the stacks that failed for this reason since it opened.
	// +kubebuilder:validation:MaxItems=1000
	// +listType=set
	// +optional
	AffectedNamespaces []string `json:"affectedNamespaces,omitempty"`

	// How often the same outage occurred since the object was created.
	// +optional
	Openings int32 `json:"openings,omitempty"`

	// The condition Ready: False while the circuit breaker is open, with the reason CircuitOpen,
	// Probing or Maintenance.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Reasons of the condition Ready, and of events.
const (
	// ReasonOpened: many stacks fail for the same reason. Ready has it while the circuit breaker is
	// open.
	ReasonOpened = "CircuitOpen"
	// ReasonProbing: a probe succeeded, and another must before it closes.
	ReasonProbing = "Probing"
	// ReasonMaintenance: a person keeps it open.
	ReasonMaintenance = "Maintenance"
	// ReasonClosed: the outage is over.
	ReasonClosed = "CircuitClosed"
)

// CircuitBreakerList is a list of circuit breakers.
//
// +kubebuilder:object:root=true
type CircuitBreakerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CircuitBreaker `json:"items"`
}
