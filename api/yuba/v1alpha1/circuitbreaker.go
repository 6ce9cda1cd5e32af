// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CircuitBreakerKind is the name of the kind.
const CircuitBreakerKind = "CircuitBreaker"

// AnnotationConcerns names the namespaces that an event is about, with commas between. Only the objects of events have it.
const AnnotationConcerns = "yuba.dev/concerns"

// CircuitBreaker is one outage that many stacks suffer from alike. The server makes it when it sees one, and removes it
// some time after the end. While it is open, nothing that it concerns is applied without a person. Whoever wants that for
// maintenance makes one by hand, with mode Open.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=cb
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.state",description="Open, HalfOpen or Closed."
// +kubebuilder:printcolumn:name="Stacks",type="integer",JSONPath=".status.affected",description="How many stacks failed alike."
// +kubebuilder:printcolumn:name="Opened",type="date",JSONPath=".status.openedAt",description="Time since it was opened last."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What is going on, in words."
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.mode) || self.spec.mode != 'Open' || has(self.spec.provider) || has(self.spec.namespaces) || has(self.status)",message="spec.mode Open wants spec.provider or spec.namespaces, so that it is known what is meant"
type CircuitBreaker struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What people want of it.
	// +optional
	Spec CircuitBreakerSpec `json:"spec,omitempty"`

	// What was last seen of the outage. The server writes it.
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

// CircuitBreakerSpec is what people want of a circuit breaker.
type CircuitBreakerSpec struct {
	// Who opens and closes it. Automatic: the server, as it sees the outage and its end. Open: it stays open, whatever is
	// seen, and nothing is probed. Closed: it stays closed, whatever fails.
	// +kubebuilder:default:=Automatic
	// +optional
	Mode CircuitBreakerMode `json:"mode,omitempty"`

	// With mode Open or Closed: the provider whose users it concerns, such as hashicorp/aws. The server leaves it out; the status tells
	// what it has seen.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Provider string `json:"provider,omitempty"`

	// With mode Open: the namespaces whose stacks it concerns. All, when there are none.
	// +kubebuilder:validation:MaxItems=100
	// +listType=set
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`
}

// CircuitBreakerState is how a circuit breaker stands.
type CircuitBreakerState string

const (
	// StateOpen: nothing that it concerns is applied without a person.
	StateOpen CircuitBreakerState = "Open"
	// StateHalfOpen: as Open, but a probe has succeeded.
	StateHalfOpen CircuitBreakerState = "HalfOpen"
	// StateClosed: the outage is over.
	StateClosed CircuitBreakerState = "Closed"
)

// CircuitBreakerStatus is what was last seen of an outage.
type CircuitBreakerStatus struct {
	// The generation of the object that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Open: nothing that it concerns is applied without a person. HalfOpen: the same, but a probe has succeeded. Closed: the
	// outage is over.
	// +optional
	State CircuitBreakerState `json:"state,omitempty"`

	// When it was opened last.
	// +optional
	OpenedAt *metav1.Time `json:"openedAt,omitempty"`

	// When it was closed last.
	// +optional
	ClosedAt *metav1.Time `json:"closedAt,omitempty"`

	// When the next stack is planned to see whether the outage is over.
	// +optional
	NextProbeAt *metav1.Time `json:"nextProbeAt,omitempty"`

	// What the failures have in common, boiled down to one word that is the same for the same outage.
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`

	// What the failures have in common: the provider that they come from.
	// +optional
	Provider string `json:"provider,omitempty"`

	// What the failures have in common: the host that was not reached, where no provider is known.
	// +optional
	Host string `json:"host,omitempty"`

	// What the failures have in common: unavailable, throttled, credentials, denied or certificate, where that was recognised.
	// +optional
	Cause string `json:"cause,omitempty"`

	// What the failures have in common: what the tool says, without names, numbers and addresses.
	// +optional
	Summary string `json:"summary,omitempty"`

	// The namespaces whose stacks it concerns. All, when there are none.
	// +listType=set
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`

	// One of the failures, as the tool told of it.
	// +optional
	Sample string `json:"sample,omitempty"`

	// How many stacks failed alike since it was opened.
	// +optional
	Affected int32 `json:"affected,omitempty"`

	// Some of the stacks that failed alike, as NAMESPACE/NAME.
	// +listType=atomic
	// +optional
	Stacks []string `json:"stacks,omitempty"`

	// The namespaces of the stacks that failed alike since it was opened.
	// +kubebuilder:validation:MaxItems=1000
	// +listType=set
	// +optional
	AffectedNamespaces []string `json:"affectedNamespaces,omitempty"`

	// How often the same outage was seen since the object was made.
	// +optional
	Openings int32 `json:"openings,omitempty"`

	// The one condition, Ready: False while it is open, with the reason CircuitOpen, Probing or Maintenance.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Reasons of the condition Ready, and of events.
const (
	// ReasonOpened: many stacks fail alike. Ready has it while the circuit breaker is open.
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
