// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TenantKind is the name of the kind.
const TenantKind = "Tenant"

// Tenant is one row of a registry with one of its templates. The server makes and removes it; its spec is the template with
// names, labels and annotations filled in.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=all
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="UID",type="string",priority=1,JSONPath=".spec.uid",description="What the registry calls the tenant."
// +kubebuilder:printcolumn:name="Template",type="string",JSONPath=".spec.templateRef",description="The template that it is made from."
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyResources",description="How many of its objects are ready."
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".status.desiredResources",description="How many objects it has."
// +kubebuilder:printcolumn:name="Conflicted",type="string",JSONPath=".status.conditions[?(@.type=='Conflicted')].status",description="Whether somebody else's objects are in the way."
// +kubebuilder:printcolumn:name="Conditions",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason",description="Why it is ready or not."
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

// TenantSpec is one row with one template. To server-side apply it is one value, as the status is: nobody but the server writes it,
// and a list of who owns which field of all its manifests would be as large as they are.
// +structType=atomic
type TenantSpec struct {
	// What the registry calls the tenant, as the row has it.
	// +kubebuilder:validation:Required
	UID string `json:"uid"`

	// The template, in the same namespace.
	// +kubebuilder:validation:Required
	TemplateRef string `json:"templateRef"`

	Resources `json:",inline"`

	// The small integers that the template has taken from pools with allocate. They are the tenant's as long as it lives.
	// Addition of Yuba.
	// +optional
	Allocations map[string]int64 `json:"allocations,omitempty"`

	// The cluster of the objects whose kinds this API does not serve, as the template names it: the tenant must still know
	// it when the template is gone. Addition of Yuba.
	// +optional
	KubeConfig *meta.KubeConfigReference `json:"kubeConfig,omitempty"`
}

// TenantStatus is what was last seen of a tenant's objects.
// +structType=atomic
type TenantStatus struct {
	// The generation that was last brought about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// How many objects are ready.
	// +optional
	ReadyResources int32 `json:"readyResources,omitempty"`
	// How many objects there should be.
	// +optional
	DesiredResources int32 `json:"desiredResources,omitempty"`
	// How many objects have failed, those among them that somebody else owns.
	// +optional
	FailedResources int32 `json:"failedResources,omitempty"`
	// How many objects were left out because one that they depend on has failed. Addition of Lynq.
	// +optional
	SkippedResources int32 `json:"skippedResources,omitempty"`
	// The ids of the objects that were left out. Addition of Lynq.
	// +optional
	SkippedResourceIds []string `json:"skippedResourceIds,omitempty"`
	// The objects that were made, as kind/namespace/name@id.
	// +optional
	AppliedResources []string `json:"appliedResources,omitempty"`

	// The objects that were made, with group and version, so that none is ever lost sight of. Addition of Yuba.
	// +optional
	Inventory []AppliedResource `json:"inventory,omitempty"`
	// What each object is waiting for or has failed with, for those that are not ready. Addition of Yuba.
	// +optional
	Waiting []WaitingResource `json:"waiting,omitempty"`

	// What is known of the tenant, by type: Ready, Progressing, Conflicted, Degraded.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ClusterTarget is what AppliedResource.Cluster says of objects in the cluster that spec.kubeConfig names.
const ClusterTarget = "target"

// AppliedResource is an object that a tenant has. Addition of Yuba.
type AppliedResource struct {
	// What the template calls it.
	ID string `json:"id"`
	// The object's group and version.
	APIVersion string `json:"apiVersion"`
	// The object's own kind.
	Kind string `json:"kind"`
	// The object's namespace; none for kinds that have none.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// The object's own name.
	Name string `json:"name"`
	// The object's uid, so that another one of the same name is not taken for it.
	// +optional
	UID string `json:"uid,omitempty"`
	// What becomes of it when the tenant goes.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// What stands for the manifest that it was last written with.
	// +optional
	Hash string `json:"hash,omitempty"`
	// What stands for the object as it was left, so that a change of somebody else is seen after a restart, too.
	// +optional
	Print string `json:"print,omitempty"`
	// The ids of the objects that it depended on as it was last written: it goes before them, even when the template has lost
	// all of them.
	// +optional
	Needs []string `json:"needs,omitempty"`
	// Where it is: here, when it is left out, or in the target, which is the cluster that spec.kubeConfig names.
	// +kubebuilder:validation:Enum=target
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// The Secret with the kubeconfig of that cluster, and after a slash the key in it, where one is named: spec.kubeConfig may
	// name another one later.
	// +optional
	KubeConfig string `json:"kubeConfig,omitempty"`
}

// WaitingResource is an object that is not ready. Addition of Yuba.
type WaitingResource struct {
	// What the template calls it.
	ID string `json:"id"`
	// A word for machines, such as Dependency, NotReady, Conflict or Timeout.
	Reason string `json:"reason"`
	// The same for people.
	// +optional
	Message string `json:"message,omitempty"`
	// Since when it is so, for its timeout.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}
