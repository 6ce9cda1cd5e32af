// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TenantTemplateKind is the name of the kind.
const TenantTemplateKind = "TenantTemplate"

// TenantTemplate is what each active row of a registry gets.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=all
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Registry",type="string",JSONPath=".spec.registryId",description="The registry whose rows it is for."
// +kubebuilder:printcolumn:name="Total",type="integer",JSONPath=".status.totalTenants",description="How many tenants it has."
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyTenants",description="How many of them are ready."
// +kubebuilder:printcolumn:name="Applied",type="string",JSONPath=".status.conditions[?(@.type=='Applied')].status",description="Whether all tenants are as it says."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type TenantTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TenantTemplateSpec   `json:"spec,omitempty"`
	Status TenantTemplateStatus `json:"status,omitempty"`
}

// TenantTemplateList is a list of templates.
//
// +kubebuilder:object:root=true
type TenantTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TenantTemplate `json:"items"`
}

// TenantTemplateSpec is what each active row of a registry gets.
type TenantTemplateSpec struct {
	// The registry, in the same namespace.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="registryId is immutable"
	RegistryID string `json:"registryId"`

	Resources `json:",inline"`

	// How a change of the template reaches the tenants. Addition of Lynq.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`

	// The cluster of the objects whose kinds this API does not serve, such as Deployments in the embedded one. The Secrets that
	// they refer to are copied there. Addition of Yuba; it has the form that Flux's kinds have.
	// +optional
	KubeConfig *meta.KubeConfigReference `json:"kubeConfig,omitempty"`
}

// Rollout is how a change of a template reaches the tenants. Addition of Lynq, but for canary, which is one of Yuba.
type Rollout struct {
	// How many tenants may be on their way to the change at a time, not ready yet. Any number, when it is 0.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxSkew int32 `json:"maxSkew,omitempty"`
	// How many seconds a tenant may take to be ready before it counts as failed.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=3600
	// +optional
	ProgressDeadlineSeconds int32 `json:"progressDeadlineSeconds,omitempty"`
	// The tenants that get the change first. The others wait until all of these are ready. Addition of Yuba.
	// +optional
	Canary *metav1.LabelSelector `json:"canary,omitempty"`
}

// RolloutPhase is how far a rollout is.
// +kubebuilder:validation:Enum=Idle;InProgress;Failed;Complete
type RolloutPhase string

const (
	// RolloutIdle: there is no tenant to bring anywhere.
	RolloutIdle RolloutPhase = "Idle"
	// RolloutInProgress: some tenants are not as the template says, or not ready yet.
	RolloutInProgress RolloutPhase = "InProgress"
	// RolloutFailed: a tenant has failed or was not ready in time, and nothing more is changed before it is, or the template
	// changes.
	RolloutFailed RolloutPhase = "Failed"
	// RolloutComplete: every tenant that can be rendered has the change, and none is on its way any more.
	RolloutComplete RolloutPhase = "Complete"
)

// RolloutStatus is how far a change of a template has reached the tenants. Addition of Lynq.
type RolloutStatus struct {
	// Idle, InProgress, Failed or Complete.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty"`
	// The generation of the template that the tenants are brought to.
	// +optional
	TargetGeneration int64 `json:"targetGeneration,omitempty"`
	// How many tenants the template has.
	// +optional
	TotalTenants int32 `json:"totalTenants,omitempty"`
	// How many of them have the target generation.
	// +optional
	UpdatedTenants int32 `json:"updatedTenants,omitempty"`
	// How many of those are not ready yet.
	// +optional
	UpdatingTenants int32 `json:"updatingTenants,omitempty"`
	// How many of those are ready.
	// +optional
	ReadyUpdatedTenants int32 `json:"readyUpdatedTenants,omitempty"`
	// When the rollout began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// When the rollout ended, well or not.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// The same for people: which tenants keep it from going on, and what to do.
	// +optional
	Message string `json:"message,omitempty"`
}

// TenantTemplateStatus is what was last seen of a template.
// +structType=atomic
type TenantTemplateStatus struct {
	// The generation that was last looked at.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// How many tenants the template has.
	// +optional
	TotalTenants int32 `json:"totalTenants,omitempty"`
	// How many of them are ready.
	// +optional
	ReadyTenants int32 `json:"readyTenants,omitempty"`
	// How far the last change of the template has reached its tenants. Addition of Lynq.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`
	// What is known of the template, by type: Valid, Applied.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
