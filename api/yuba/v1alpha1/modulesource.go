// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ModuleSourceKind is the name of the kind.
const ModuleSourceKind = "ModuleSource"

// ModuleSource publishes the tags of a git repository as versions of modules in Yuba's registry. A
// published version never changes: a tag that was moved later is refused.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=modsrc
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="URL",type="string",JSONPath=".spec.url",description="The repository."
// +kubebuilder:printcolumn:name="Published",type="integer",JSONPath=".status.published",description="How many versions the registry has of its tags."
// +kubebuilder:printcolumn:name="Refused",type="integer",JSONPath=".status.refused",description="How many tags are refused."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created."
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the tags are published."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="The message of the condition Ready."
type ModuleSource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The repository, and which of its tags are versions of which modules.
	Spec ModuleSourceSpec `json:"spec"`

	// The observed state of the tags. The server writes it.
	// +optional
	Status ModuleSourceStatus `json:"status,omitempty,omitzero"`
}

// ModuleSourceSpec is the desired state of a module source.
type ModuleSourceSpec struct {
	// The address of the repository: https://…, http://…, ssh://… or file://… (if the server allows
	// repositories on its disk).
	// +kubebuilder:validation:Pattern=`^(https?|ssh|file)://.+$`
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`

	// The Secret with the credentials for the repository, with the keys of a GitRepository's Secret:
	// username and password, bearerToken, identity and known_hosts, ca.crt, tls.crt and tls.key.
	// +optional
	SecretRef *meta.LocalObjectReference `json:"secretRef,omitempty"`

	// The Secret with the address of a proxy, and its username and password, as a GitRepository's.
	// +optional
	ProxySecretRef *meta.LocalObjectReference `json:"proxySecretRef,omitempty"`

	// How often to list the tags. A webhook receiver makes new tags known at once.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:default:="10m"
	// +optional
	Interval metav1.Duration `json:"interval,omitempty"`

	// The maximum duration of one request to the repository.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m))+$`
	// +kubebuilder:default:="60s"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Whether to stop publishing. Published versions stay.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// The service account of this namespace that publishes. It needs the verb update on the resource
	// modules of the group content.yuba.dev, named like the registry's namespace, in the cluster's
	// scope.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:default:=default
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// The modules of the repository.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=200
	// +listType=map
	// +listMapKey=name
	Modules []ModuleSourceModule `json:"modules"`

	// The signatures that a tag must have to be published. By default, it needs none.
	// +optional
	Verification *ModuleSourceVerification `json:"verify,omitempty"`
}

// ModuleSourceModule is a module of a repository.
type ModuleSourceModule struct {
	// The name of the module in the registry, NAMESPACE/NAME/SYSTEM, such as acme/vpc/aws.
	// +kubebuilder:validation:Pattern=`^[0-9a-z]([0-9a-z_-]{0,62}[0-9a-z])?/[0-9a-z]([0-9a-z_-]{0,62}[0-9a-z])?/[0-9a-z]{1,64}$`
	// +kubebuilder:validation:MaxLength=194
	Name string `json:"name"`

	// The directory of the module in the repository. The default is the whole repository.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !('/' + self + '/').contains('/../')",message="the path is relative to the repository's root and stays inside it"
	// +optional
	Path string `json:"path,omitempty"`

	// The pattern of the module's tags. {version} stands for the version, which may begin with v. The default is {version} for the whole repository (v1.2.3 or 1.2.3), and PATH/{version}
	// for a directory (modules/vpc/v1.2.3).
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.contains('{version}')",message="the pattern of tags contains {version}, such as vpc-{version}"
	// +optional
	Tag string `json:"tag,omitempty"`

	// The versions to publish, as a range such as ">=1.0.0 <3.0.0" or "~> 2.1". The default is all.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	SemVer string `json:"semver,omitempty"`

	// Whether to leave out pre-releases such as 1.2.0-rc1.
	// +optional
	IgnorePrereleases bool `json:"ignorePrereleases,omitempty"`
}

// ModuleSourceVerification describes the signatures that a tag must have.
type ModuleSourceVerification struct {
	// The signed objects: the tag (Tag), the commit that it points to (HEAD), or both (TagAndHEAD).
	// +kubebuilder:validation:Enum=Tag;HEAD;TagAndHEAD
	// +kubebuilder:default:=Tag
	// +optional
	Mode string `json:"mode,omitempty"`

	// The Secret with the public keys: SSH keys in keys that end in .sshpub, else PGP keyrings.
	SecretRef meta.LocalObjectReference `json:"secretRef"`
}

// ModuleSourceStatus is the observed state of a module source.
type ModuleSourceStatus struct {
	meta.ReconcileRequestStatus `json:",inline"`

	// The generation of the object that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// How many versions the registry has of the repository's current tags.
	// +optional
	Published int32 `json:"published,omitempty"`

	// The tag that was published last.
	// +optional
	LastTag string `json:"lastTag,omitempty"`

	// When a tag was published last.
	// +optional
	LastPublished *metav1.Time `json:"lastPublished,omitempty"`

	// The modules, with what is published of each.
	// +listType=map
	// +listMapKey=name
	// +optional
	Modules []ModuleSourceModuleStatus `json:"modules,omitempty"`

	// How many tags are refused.
	// +optional
	Refused int32 `json:"refused,omitempty"`

	// Some of the refused tags, the highest versions first.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	RefusedTags []ModuleSourceRefusal `json:"refusedTags,omitempty"`

	// The conditions Ready, Reconciling and Stalled, as those of sources, and TagsRefused while some
	// tags are refused.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ModuleSourceModuleStatus is what is published of a module.
type ModuleSourceModuleStatus struct {
	// The name of the module in the registry.
	Name string `json:"name"`
	// How many versions the registry has of the repository's current tags.
	// +optional
	Published int32 `json:"published,omitempty"`
	// The highest of these versions.
	// +optional
	Latest string `json:"latest,omitempty"`
}

// ModuleSourceRefusal is a tag that is not published.
type ModuleSourceRefusal struct {
	// The name of the tag.
	Tag string `json:"tag"`
	// The commit that it leads to.
	// +optional
	Commit string `json:"commit,omitempty"`
	// The module and the version, NAMESPACE/NAME/SYSTEM@VERSION.
	// +optional
	Module string `json:"module,omitempty"`
	// Why, in one word.
	Reason string `json:"reason"`
	// Why, and what to do.
	Message string `json:"message"`
}

// The conditions of a module source, besides those of Flux:
//
//	Ready
//	├── Stalled      a change of the object, or of permissions, is required
//	├── Reconciling  in progress, or to be retried
//	└── TagsRefused  some tags are not published; the others are, so Ready may be True
const (
	// TagsRefusedCondition is True while tags are refused.
	TagsRefusedCondition = "TagsRefused"
)

// Reasons of conditions and refusals of module sources.
const (
	// ReasonPublishingForbidden: the service account may not publish into the registry's namespace.
	ReasonPublishingForbidden = "PublishingForbidden"
	// ReasonInvalidModules: an entry of spec.modules cannot be used.
	ReasonInvalidModules = "InvalidModules"
	// ReasonRegistryFailed: the registry could not be read or written.
	ReasonRegistryFailed = "RegistryOperationFailed"
	// ReasonInvalidVersion: the tag is not a version.
	ReasonInvalidVersion = "InvalidVersion"
	// ReasonAmbiguousTags: several tags with different commits are the same version.
	ReasonAmbiguousTags = "AmbiguousTags"
	// ReasonTagMoved: the tag led to another commit when it was published.
	ReasonTagMoved = "TagMoved"
	// ReasonVersionConflict: somebody else published the version with other content.
	ReasonVersionConflict = "VersionConflict"
	// ReasonInvalidModule: the directory is not a module that can be published.
	ReasonInvalidModule = "InvalidModule"
	// ReasonIncompatible: a patch release changes the interface in a way that breaks users.
	ReasonIncompatible = "IncompatibleInterface"
	// ReasonNotVerified: the tag lacks a required signature.
	ReasonNotVerified = "NotVerified"
	// ReasonFetchRefused: the content of the tag cannot be used.
	ReasonFetchRefused = "ContentRefused"
	// ReasonTagsRefused: some tags are refused; see status.refusedTags.
	ReasonTagsRefused = "TagsRefused"
	// ReasonPublished is the reason of the event for a published version.
	ReasonPublished = "VersionPublished"
)

// GetConditions returns the conditions.
func (m *ModuleSource) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces the conditions.
func (m *ModuleSource) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// GetTimeout returns the maximum duration of one request.
func (m *ModuleSource) GetTimeout() time.Duration {
	if m.Spec.Timeout == nil {
		return time.Minute
	}
	return m.Spec.Timeout.Duration
}

// GetRequeueAfter returns the interval.
func (m *ModuleSource) GetRequeueAfter() time.Duration {
	if m.Spec.Interval.Duration == 0 {
		return 10 * time.Minute
	}
	return m.Spec.Interval.Duration
}

// ModuleSourceList is a list of module sources.
//
// +kubebuilder:object:root=true
type ModuleSourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModuleSource `json:"items"`
}
