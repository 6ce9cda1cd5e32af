// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TenantKind is the name of the kind.
const TenantKind = "Tenant"

// Tenant is one row of a registry with one of its templates. The server creates and deletes it. Its
// spec is the template with names, labels and annotations filled in.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=all
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="UID",type="string",priority=1,JSONPath=".spec.uid",description="The uid of the tenant."
// +kubebuilder:printcolumn:name="Template",type="string",JSONPath=".spec.templateRef",description="The template of the tenant."
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyResources",description="How many of its objects are ready."
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".status.desiredResources",description="How many objects the tenant should have."
// +kubebuilder:printcolumn:name="Conflicted",type="string",JSONPath=".status.conditions[?(@.type=='Conflicted')].status",description="Whether objects with another owner are in conflict."
// +kubebuilder:printcolumn:name="Conditions",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason",description="The reason of the condition Ready."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type Tenant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TenantSpec   `json:"spec,omitempty"`
	Status TenantStatus `json:"status,omitempty"`
}

// TenantList is a list of tenants.
//
// +kubebuilder:object:root=true
type TenantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Tenant `json:"items"`
}

// TenantSpec is one row with one template. It is one value for server-side apply, because only the
// server writes it: field ownership of all its manifests would be as large as the manifests.
// +structType=atomic
type TenantSpec struct {
	// The uid of the tenant, as in the row.
	// +kubebuilder:validation:Required
	UID string `json:"uid"`

	// The template, in the same namespace.
	// +kubebuilder:validation:Required
	TemplateRef string `json:"templateRef"`

	Resources `json:",inline"`

	// The numbers that the template took from pools with allocate. They belong to the tenant while
	// it exists. Addition of Yuba.
	// +optional
	Allocations map[string]int64 `json:"allocations,omitempty"`

	// The cluster for objects whose kinds this API does not serve, copied from the template,
	// because the tenant needs it when the template is gone. Addition of Yuba.
	// +optional
	KubeConfig *meta.KubeConfigReference `json:"kubeConfig,omitempty"`
}

// TenantStatus is the observed state of the objects of a tenant.
// +structType=atomic
type TenantStatus struct {
	// The generation that was last reconciled.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// How many objects are ready.
	// +optional
	ReadyResources int32 `json:"readyResources,omitempty"`
	// How many objects the tenant should have.
	// +optional
	DesiredResources int32 `json:"desiredResources,omitempty"`
	// How many objects have failed, including those with another owner.
	// +optional
	FailedResources int32 `json:"failedResources,omitempty"`
	// How many objects were skipped because one of their dependencies failed. Addition of Lynq.
	// +optional
	SkippedResources int32 `json:"skippedResources,omitempty"`
	// The ids of the skipped objects. Addition of Lynq.
	// +optional
	SkippedResourceIds []string `json:"skippedResourceIds,omitempty"`
	// The created objects, as kind/namespace/name@id.
	// +optional
	AppliedResources []string `json:"appliedResources,omitempty"`

	// The created objects, with group and version, so that Yuba can always find them.
	// Addition of Yuba.
	// +optional
	Inventory []AppliedResource `json:"inventory,omitempty"`
	// For each object that is not ready: what it waits for, or why it failed. Addition of Yuba.
	// +optional
	Waiting []WaitingResource `json:"waiting,omitempty"`

	// The conditions of the tenant: Ready, Progressing, Conflicted, Degraded.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ClusterTarget in AppliedResource.Cluster means the cluster of spec.kubeConfig.
const ClusterTarget = "target"

// AppliedResource is an object of a tenant. Addition of Yuba.
type AppliedResource struct {
	// The id of the object in the template.
	ID string `json:"id"`
	// The object's group and version.
	APIVersion string `json:"apiVersion"`
	// The object's own kind.
	Kind string `json:"kind"`
	// The object's namespace; empty for cluster-scoped kinds.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// The object's own name.
	Name string `json:"name"`
	// The object's UID, which distinguishes it from other objects of the same name.
	// +optional
	UID string `json:"uid,omitempty"`
	// What happens to the object when its tenant is deleted.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// A digest of the manifest that was last written.
	// +optional
	Hash string `json:"hash,omitempty"`
	// A digest of the object as Yuba last left it, to detect changes by others, even after a
	// restart.
	// +optional
	Print string `json:"print,omitempty"`
	// The ids of its dependencies when it was last written. It is deleted before them, even if the
	// template no longer has any of them.
	// +optional
	Needs []string `json:"needs,omitempty"`
	// The cluster of the object: empty for this one, or target for the cluster that spec.kubeConfig
	// names.
	// +kubebuilder:validation:Enum=target
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// The Secret with the kubeconfig of that cluster, and the key after a slash, if one is set:
	// spec.kubeConfig may name another Secret later.
	// +optional
	KubeConfig string `json:"kubeConfig,omitempty"`
}

// WaitingResource is an object that is not ready. Addition of Yuba.
type WaitingResource struct {
	// The id of the object in the template.
	ID string `json:"id"`
	// The reason in one word, such as Dependency, NotReady, Conflict or Timeout.
	Reason string `json:"reason"`
	// The reason in readable form.
	// +optional
	Message string `json:"message,omitempty"`
	// Since when the object is in this state; its timeout starts then.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}
