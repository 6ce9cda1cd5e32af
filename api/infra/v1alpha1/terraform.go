// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

var (
	// GroupVersion is the group and version of the kinds in this package.
	GroupVersion = schema.GroupVersion{Group: infrav1.GroupVersion.Group, Version: "v1alpha1"}

	// SchemeBuilder collects what [AddToScheme] adds.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme makes a scheme know the kinds of this package.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Terraform{}, &TerraformList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Terraform is a stack: a root module of OpenTofu or Terraform that Yuba plans, applies and checks
// for drift. This version of the kind is deprecated; use v1alpha2, which has the same fields.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=tf,categories=all
// +kubebuilder:deprecatedversion:warning="v1alpha1 Terraform is deprecated, upgrade to v1alpha2"
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
	Spec infrav1.TerraformSpec `json:"spec,omitempty"`

	// The observed state of the stack. The server writes it. An observedGeneration of -1 means that
	// it has not observed the object yet.
	// +kubebuilder:default:={"observedGeneration":-1}
	// +optional
	Status infrav1.TerraformStatus `json:"status,omitempty,omitzero"`
}

// TerraformList is a list of stacks.
//
// +kubebuilder:object:root=true
type TerraformList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Terraform `json:"items"`
}
