// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TenantTemplateKind is the name of the kind.
const TenantTemplateKind = "TenantTemplate"

// TenantTemplate describes the objects for each active row of a registry.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=all
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Registry",type="string",JSONPath=".spec.registryId",description="The registry of the template."
// +kubebuilder:printcolumn:name="Total",type="integer",JSONPath=".status.totalTenants",description="How many tenants it has."
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyTenants",description="How many of the tenants are ready."
// +kubebuilder:printcolumn:name="Applied",type="string",JSONPath=".status.conditions[?(@.type=='Applied')].status",description="Whether all tenants match the template."
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

// TenantTemplateSpec describes the objects for each active row of a registry.
type TenantTemplateSpec struct {
	// The registry, in the same namespace.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="registryId is immutable"
	RegistryID string `json:"registryId"`

	Resources `json:",inline"`

	// How to roll out a changed template to its tenants. Addition of Lynq.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`

	// The cluster for objects whose kinds this API does not serve, such as Deployments with the
	// embedded API. Yuba copies the Secrets that they refer to. Addition of Yuba, in the same form
	// as in Flux's kinds.
	// +optional
	KubeConfig *meta.KubeConfigReference `json:"kubeConfig,omitempty"`
}

// Rollout says how to roll out a changed template to its tenants. Addition of Lynq, except for
// canary, which is an addition of Yuba.
type Rollout struct {
	// How many tenants may be updated at the same time and not be ready yet. 0 means any number.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxSkew int32 `json:"maxSkew,omitempty"`
	// How many seconds a tenant may take to become ready before it counts as failed.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=3600
	// +optional
	ProgressDeadlineSeconds int32 `json:"progressDeadlineSeconds,omitempty"`
	// The tenants to update first. The others wait until all of these are ready. Addition of Yuba.
	// +optional
	Canary *metav1.LabelSelector `json:"canary,omitempty"`
}

// RolloutPhase is the phase of a rollout.
// +kubebuilder:validation:Enum=Idle;InProgress;Failed;Complete
type RolloutPhase string

const (
	// RolloutIdle: there is no tenant to update.
	RolloutIdle RolloutPhase = "Idle"
	// RolloutInProgress: some tenants are not updated, or not ready yet.
	RolloutInProgress RolloutPhase = "InProgress"
	// RolloutFailed: a tenant has failed or was not ready in time. The rollout continues when it is
	// ready, or when the template changes.
	RolloutFailed RolloutPhase = "Failed"
	// RolloutComplete: every tenant that can be rendered is updated, and none is still progressing.
	RolloutComplete RolloutPhase = "Complete"
)

// RolloutStatus is the progress of a rollout. Addition of Lynq.
type RolloutStatus struct {
	// The phase: Idle, InProgress, Failed or Complete.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty"`
	// The generation of the template that the rollout brings to the tenants.
	// +optional
	TargetGeneration int64 `json:"targetGeneration,omitempty"`
	// How many tenants the template has.
	// +optional
	TotalTenants int32 `json:"totalTenants,omitempty"`
	// How many of the tenants have the target generation.
	// +optional
	UpdatedTenants int32 `json:"updatedTenants,omitempty"`
	// How many of the updated tenants are not ready yet.
	// +optional
	UpdatingTenants int32 `json:"updatingTenants,omitempty"`
	// How many of the updated tenants are ready.
	// +optional
	ReadyUpdatedTenants int32 `json:"readyUpdatedTenants,omitempty"`
	// When the rollout began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// When the rollout ended, successfully or not.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// A readable summary: which tenants block the rollout, and what to do.
	// +optional
	Message string `json:"message,omitempty"`
}

// TenantTemplateStatus is the observed state of a template.
// +structType=atomic
type TenantTemplateStatus struct {
	// The generation that was last reconciled.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// How many tenants the template has.
	// +optional
	TotalTenants int32 `json:"totalTenants,omitempty"`
	// How many of the tenants are ready.
	// +optional
	ReadyTenants int32 `json:"readyTenants,omitempty"`
	// The progress of the last rollout. Addition of Lynq.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`
	// The conditions of the template: Valid, Applied.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
