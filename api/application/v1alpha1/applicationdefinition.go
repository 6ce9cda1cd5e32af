// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ApplicationDefinition declares a kind of the group apps.cozystack.io, and what its objects become.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=appdef
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Kind",type="string",JSONPath=".spec.application.kind",description="The kind that it declares."
// +kubebuilder:printcolumn:name="Backend",type="string",JSONPath=".status.backend",description="The backend of its instances: Helm, Terraform, Tenant or Composition."
// +kubebuilder:printcolumn:name="Instances",type="integer",JSONPath=".status.instances",description="How many objects of the kind exist."
// +kubebuilder:printcolumn:name="Up-to-date",type="integer",JSONPath=".status.rollout.updated",description="How many of them have the last change."
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the kind is served as the definition says."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created."
// +kubebuilder:printcolumn:name="Message",type="string",priority=1,JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="The message of the condition Ready."
type ApplicationDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The kind, and what its objects become.
	Spec ApplicationDefinitionSpec `json:"spec"`

	// The observed state of the kind. The server writes it.
	// +optional
	Status ApplicationDefinitionStatus `json:"status,omitempty,omitzero"`
}

// ApplicationDefinitionSpec is the desired state of a definition.
//
// +kubebuilder:validation:XValidation:rule="has(self.release) != has(self.backend)",message="a definition has either release or backend"
type ApplicationDefinitionSpec struct {
	// The kind that users get.
	Application Application `json:"application"`

	// What instances become: Cozystack's form for Helm, the same as backend.helm. Use either this or
	// backend.
	// +optional
	Release *HelmBackend `json:"release,omitempty"`

	// (Yuba) What instances become: Helm releases, stacks, namespaces or several objects. Use either this or release.
	// +optional
	Backend *Backend `json:"backend,omitempty"`

	// (Yuba) Which role of a namespace includes the kind, with its plans and their approval: edit (the
	// default), admin (the default for the backend Tenant), or none, for roles that you write yourself. With
	// edit and admin, the admins of Cozystack's tenants may use it, too.
	// +optional
	AggregateTo AggregateTo `json:"aggregateTo,omitempty"`

	// (Yuba) How a change of the definition reaches its instances. Without it, all get it at once.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`

	// How web pages show the kind.
	// +optional
	Dashboard *Dashboard `json:"dashboard,omitempty"`

	// The Secrets of an instance that its users see in web pages.
	// +optional
	Secrets *Visible `json:"secrets,omitempty"`

	// The Services of an instance that its users see in web pages.
	// +optional
	Services *Visible `json:"services,omitempty"`

	// The Ingresses of an instance that its users see in web pages.
	// +optional
	Ingresses *Visible `json:"ingresses,omitempty"`
}

// AggregateTo is the role of a namespace that includes a kind.
//
// +kubebuilder:validation:Enum=edit;admin;none
type AggregateTo string

// The values of AggregateTo.
const (
	AggregateToEdit  AggregateTo = "edit"
	AggregateToAdmin AggregateTo = "admin"
	AggregateToNone  AggregateTo = "none"
)

// Application describes the kind that users get.
//
// +kubebuilder:validation:XValidation:rule="self.kind == oldSelf.kind && self.plural == oldSelf.plural",message="kind and plural cannot change: the objects of the kind would be lost. Create another definition"
type Application struct {
	// The kind, such as Bucket.
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// The plural name, such as buckets, which URLs and roles contain.
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Plural string `json:"plural"`

	// The singular name, such as bucket.
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Singular string `json:"singular"`

	// The schema of an instance's spec: JSON Schema as a JSON text. The API server enforces it and
	// fills in its defaults. Keys at the top that begin with "_" are internal: users cannot set them.
	// +kubebuilder:validation:MaxLength=262144
	OpenAPISchema string `json:"openAPISchema"`
}

// Dashboard is how web pages show the kind. Yuba keeps it, and only uses keysOrder.
type Dashboard struct {
	// The name of one instance, for people.
	// +optional
	Singular string `json:"singular,omitempty"`
	// The name of several instances, for people.
	// +optional
	Plural string `json:"plural,omitempty"`
	// The name in menus, if it differs from plural.
	// +optional
	Name string `json:"name,omitempty"`
	// A short description of the kind.
	// +optional
	Description string `json:"description,omitempty"`
	// The group in menus, such as IaaS.
	// +optional
	Category string `json:"category,omitempty"`
	// The position in its group: smaller comes first.
	// +optional
	Weight int32 `json:"weight,omitempty"`
	// An icon: SVG in base64.
	// +optional
	Icon string `json:"icon,omitempty"`
	// Words for searches.
	// +listType=atomic
	// +optional
	Tags []string `json:"tags,omitempty"`
	// The tabs of an instance's page.
	// +listType=atomic
	// +optional
	Tabs []string `json:"tabs,omitempty"`
	// Whether the kind is a module, which a namespace has once.
	// +optional
	Module bool `json:"module,omitempty"`
	// Whether a namespace has at most one instance.
	// +optional
	SingularResource bool `json:"singularResource,omitempty"`
	// The order of fields in forms, each as its path.
	// +listType=atomic
	// +optional
	KeysOrder [][]string `json:"keysOrder,omitempty"`
}

// Visible selects objects of an instance.
type Visible struct {
	// Objects to leave out, even if they are included.
	// +listType=atomic
	// +optional
	Exclude []Selector `json:"exclude,omitempty"`
	// Objects to show.
	// +listType=atomic
	// +optional
	Include []Selector `json:"include,omitempty"`
}

// Selector selects objects by labels, by names, or both.
type Selector struct {
	metav1.LabelSelector `json:",inline"`

	// Names of objects. They may contain {{ .name }}, {{ .namespace }} and {{ .kind }} of the instance.
	// +listType=atomic
	// +optional
	ResourceNames []string `json:"resourceNames,omitempty"`
}

// ApplicationDefinitionStatus is the observed state of a definition.
type ApplicationDefinitionStatus struct {
	// The generation of the object that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The conditions: Ready, and Stalled while somebody has to change something.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// (Yuba) What instances become: Helm, Terraform, Tenant or Composition.
	// +optional
	Backend BackendType `json:"backend,omitempty"`

	// (Yuba) How many objects of the kind exist. Updated within some seconds.
	// +optional
	Instances int32 `json:"instances,omitempty"`

	// (Yuba) How far the last change of the definition has come.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// (Yuba) Remarks that stop nothing, such as parts of the schema that are not enforced.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Warnings []string `json:"warnings,omitempty"`
}

// ApplicationDefinitionList is a list of definitions.
//
// +kubebuilder:object:root=true
type ApplicationDefinitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ApplicationDefinition `json:"items"`
}

// GetConditions returns the conditions.
func (d *ApplicationDefinition) GetConditions() []metav1.Condition { return d.Status.Conditions }

// SetConditions replaces the conditions.
func (d *ApplicationDefinition) SetConditions(conditions []metav1.Condition) {
	d.Status.Conditions = conditions
}
