// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// CrossNamespaceSourceReference names the object that provides the program.
type CrossNamespaceSourceReference struct {
	// The API version, such as source.toolkit.fluxcd.io/v1. Defaults to the kind's current one.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// The kind of the source. (Yuba) "yuba push" also creates an ExternalArtifact.
	// +kubebuilder:validation:Enum=GitRepository;Bucket;OCIRepository;ExternalArtifact
	// +required
	Kind string `json:"kind"`

	// The name of the source.
	// +required
	Name string `json:"name"`

	// The namespace of the source. Defaults to the object's own. The server must allow any other.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// The kinds that spec.sourceRef can name.
const (
	SourceKindGitRepository    = "GitRepository"
	SourceKindBucket           = "Bucket"
	SourceKindOCIRepository    = "OCIRepository"
	SourceKindExternalArtifact = "ExternalArtifact"
)

// String returns KIND/NAMESPACE/NAME, without a namespace that is not given.
func (r CrossNamespaceSourceReference) String() string {
	if r.Namespace == "" {
		return r.Kind + "/" + r.Name
	}
	return r.Kind + "/" + r.Namespace + "/" + r.Name
}
