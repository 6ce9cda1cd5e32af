// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OutputGrant allows bridges of other namespaces to read the outputs of a stack.
//
// +kubebuilder:validation:XValidation:rule="has(self.namespaces) != has(self.selector)",message="a grant has either namespaces or a selector"
type OutputGrant struct {
	// The names of namespaces.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`

	// Selects namespaces by their labels; the empty selector {} selects all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}
