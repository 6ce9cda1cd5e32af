// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// CompositionBackend makes several objects of each instance: stacks, HelmReleases, Secrets, ConfigMaps
// and instances of other application kinds.
type CompositionBackend struct {
	// Begins the names of the objects, such as "webapp-". Prefix and name together have at most 53
	// characters.
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]*$`
	// +kubebuilder:validation:MaxLength=50
	// +optional
	Prefix string `json:"prefix,omitempty"`

	// Labels of each object.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// The objects. An object that refers to another one in an expression is written once that is ready.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=id
	Resources []ComposedResource `json:"resources"`

	// The outputs of an instance, by name: texts with expressions in ${ }, such as
	// ${resources.web.outputs.url}. The status shows those whose resources are ready.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Outputs map[string]string `json:"outputs,omitempty"`
}

// ComposedResource is an object that each instance has.
type ComposedResource struct {
	// The name of the resource in expressions, as in resources.network.outputs.id.
	// +kubebuilder:validation:Pattern=`^[a-z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=40
	ID string `json:"id"`

	// The object: apiVersion, kind, metadata and the rest. Texts may contain expressions (CEL) in ${ }
	// over spec, metadata and resources; a text that is one expression becomes its value, of any
	// type. metadata.name defaults to the prefix, the instance's name and the id. The namespace is the
	// instance's.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Template apiextensionsv1.JSON `json:"template"`

	// Expressions over spec and metadata. The object exists while all are true. Objects that
	// refer to one that does not exist are left out, too.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	// +optional
	IncludeWhen []string `json:"includeWhen,omitempty"`

	// Expressions over self, the object's name, status and outputs. The object is ready when all are
	// true. By default, its condition Ready must be true for its current generation, and a stack must
	// have been applied.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	// +optional
	ReadyWhen []string `json:"readyWhen,omitempty"`

	// The ids of resources that must be ready first, besides those that its expressions name.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=40
	// +listType=set
	// +optional
	DependsOn []string `json:"dependsOn,omitempty"`
}

// InstanceResource is an object of a composed instance, in its status.
// +kubebuilder:object:generate=true
type InstanceResource struct {
	// The id in the definition.
	ID string `json:"id"`
	// The object.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	// Its state in one word: Waiting, Progressing, AwaitingApproval, Ready, Failed or Deleting.
	State string `json:"state"`
	// Why, unless it is ready.
	Message string `json:"message,omitempty"`
}

// StateWaiting is a state of the objects of a composed instance, besides the phases of instances.
const StateWaiting = "Waiting"
