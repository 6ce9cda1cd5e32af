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

	// The value, as any JSON. A string that contains JSON of the declared type is converted, so "3"
	// works for a number.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`

	// Take the value from a key of a Secret (secretKeyRef) or ConfigMap (configMapKeyRef) in the
	// object's namespace. Other kinds of reference need a Pod and are refused.
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

	// The keys to use; "old:new" uses the key old as the variable new. A key missing in a ConfigMap
	// is skipped. A key missing in a Secret, or in an optional Secret that does not exist, sets the
	// variable to the empty string. Defaults to all keys.
	// +optional
	VarsKeys []string `json:"varsKeys,omitempty"`

	// Continue if it does not exist. Defaults to false.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// FileMapping writes a key of a Secret as a file.
type FileMapping struct {
	// The Secret and its key.
	// +required
	SecretRef meta.SecretKeyReference `json:"secretRef"`

	// Where to write the file: "home" is the home directory of the run, "workspace" the directory
	// of the root module.
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

	// The name for its keys in templates: with "vpc", the key id is "${{ .vpc.id }}".
	// +required
	As string `json:"as"`
}

// WriteOutputsToSecretSpec says where to write outputs.
type WriteOutputsToSecretSpec struct {
	// The name of the Secret, in the object's namespace. The Secret belongs to the stack: Yuba
	// replaces its other content, and deletes it with the stack.
	// +required
	Name string `json:"name"`

	// Labels of the Secret.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations of the Secret.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// The outputs to write; "output:key" writes an output under another key. Defaults to all
	// outputs.
	// +optional
	Outputs []string `json:"outputs,omitempty"`
}
