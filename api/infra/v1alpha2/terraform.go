// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Terraform is a stack: a root module of OpenTofu or Terraform that Yuba plans, applies and checks
// for drift.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=tf,categories=all
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the stack matches its spec."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.summary",description="A summary of the status."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the object was created."
// +kubebuilder:printcolumn:name="Plan",type="string",priority=1,JSONPath=".status.plan.summary",description="The last plan's changes: resources to add, change and destroy."
// +kubebuilder:printcolumn:name="Revision",type="string",priority=1,JSONPath=".status.lastAppliedRevision",description="The last applied revision of the source."
// +kubebuilder:printcolumn:name="Planned",type="string",priority=1,JSONPath=".status.lastPlannedRevision",description="The last planned revision of the source."
// +kubebuilder:printcolumn:name="Message",type="string",priority=1,JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="The message of the condition Ready."
type Terraform struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state of the stack.
	// +optional
	Spec TerraformSpec `json:"spec,omitempty"`

	// The observed state of the stack. The server writes it. An observedGeneration of -1 means that
	// it has not observed the object yet.
	// +kubebuilder:default:={"observedGeneration":-1}
	// +optional
	Status TerraformStatus `json:"status,omitempty,omitzero"`
}

// TerraformList is a list of stacks.
//
// +kubebuilder:object:root=true
type TerraformList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Terraform `json:"items"`
}
