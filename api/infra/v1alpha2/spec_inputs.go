// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Variable is the value of one input variable.
type Variable struct {
	// The variable's name, as the module declares it.
	// +required
	Name string `json:"name"`

	// The value: any JSON. A string that is JSON of the declared type is converted, so "3" will do for a number.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`

	// Take the value from a key of a Secret (secretKeyRef) or ConfigMap (configMapKeyRef) in the object's namespace. The
	// other kinds of reference need a Pod and are refused.
	// +optional
	ValueFrom *corev1.EnvVarSource `json:"valueFrom,omitempty"`
}

// VarsReference names a Secret or ConfigMap whose keys become input variables.
type VarsReference struct {
	// Secret or ConfigMap.
	// +kubebuilder:validation:Enum=Secret;ConfigMap
	// +required
	Kind string `json:"kind"`

	// The name of the Secret or ConfigMap, in the object's namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// The keys to use; "old:new" uses the key old as the variable new. A key that a ConfigMap lacks is left out; one that a
	// Secret lacks, or an optional Secret that does not exist, sets the variable to the empty string. Defaults to all keys.
	// +optional
	VarsKeys []string `json:"varsKeys,omitempty"`

	// Go on without it when it does not exist. Defaults to false.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// FileMapping writes a key of a Secret as a file.
type FileMapping struct {
	// The Secret and its key.
	// +required
	SecretRef meta.SecretKeyReference `json:"secretRef"`

	// Where the file is written: "home" is the home directory of the run, "workspace" the directory of the root module.
	// +kubebuilder:validation:Enum=home;workspace
	// +required
	Location string `json:"location"`

	// The file's path below the location, such as ".ssh/id_rsa".
	// +kubebuilder:validation:Pattern=`^(.?[/_a-zA-Z0-9]{1,})*$`
	// +required
	Path string `json:"path"`
}

// The locations of spec.fileMappings.
const (
	FileLocationHome      = "home"
	FileLocationWorkspace = "workspace"
)

// ReadInputsFromSecretSpec makes the keys of a Secret available to templates.
type ReadInputsFromSecretSpec struct {
	// The name of the Secret, in the object's namespace.
	// +required
	Name string `json:"name"`

	// The name under which templates find its keys: with "vpc", the key id is "${{ .vpc.id }}".
	// +required
	As string `json:"as"`
}

// WriteOutputsToSecretSpec says where outputs are written.
type WriteOutputsToSecretSpec struct {
	// The name of the Secret, in the object's namespace. It belongs to the stack: what else it holds is replaced, and it
	// is deleted with the stack.
	// +required
	Name string `json:"name"`

	// Labels of the Secret.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations of the Secret.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// The outputs to write; "output:key" writes it under another key. Defaults to all outputs.
	// +optional
	Outputs []string `json:"outputs,omitempty"`
}
