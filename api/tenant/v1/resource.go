// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"
)

// DeletionPolicy says what becomes of an object when its tenant goes, or when the template no longer has it.
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// CreationPolicy says whether an object follows its template.
// +kubebuilder:validation:Enum=Once;WhenNeeded
type CreationPolicy string

// ConflictPolicy says what to do about an object that somebody else owns.
// +kubebuilder:validation:Enum=Force;Stuck
type ConflictPolicy string

// PatchStrategy says how an object is written.
// +kubebuilder:validation:Enum=apply;merge;replace
type PatchStrategy string

const (
	// DeletionPolicyDelete: the object goes with its tenant.
	DeletionPolicyDelete DeletionPolicy = "Delete"
	// DeletionPolicyRetain: the object stays, and is marked as orphaned.
	DeletionPolicyRetain DeletionPolicy = "Retain"

	// CreationPolicyWhenNeeded: the object is kept as the template says.
	CreationPolicyWhenNeeded CreationPolicy = "WhenNeeded"
	// CreationPolicyOnce: the object is made, and left alone after that.
	CreationPolicyOnce CreationPolicy = "Once"

	// ConflictPolicyStuck: the tenant waits until the other owner lets go of the object.
	ConflictPolicyStuck ConflictPolicy = "Stuck"
	// ConflictPolicyForce: the object is taken over.
	ConflictPolicyForce ConflictPolicy = "Force"

	// PatchStrategyApply is server-side apply.
	PatchStrategyApply PatchStrategy = "apply"
	// PatchStrategyMerge is a strategic merge patch, or a merge patch where the kind has no strategy.
	PatchStrategyMerge PatchStrategy = "merge"
	// PatchStrategyReplace replaces the whole object.
	PatchStrategyReplace PatchStrategy = "replace"
)

// DefaultTimeoutSeconds is how long an object may take to be ready unless it says otherwise.
const DefaultTimeoutSeconds = 300

// TResource is one object of each tenant, and the rules for its life. All texts in it are templates: Go's text/template with
// the values of the row, such as {{ .uid }}.
type TResource struct {
	// What other objects of the template call this one. It is unique in the whole template.
	// +kubebuilder:validation:Required
	ID string `json:"id"`

	// The object's whole manifest. Every text in it is a template. Where a list is for one kind, apiVersion and kind may be
	// left out.
	// +kubebuilder:validation:Required
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec unstructured.Unstructured `json:"spec"`

	// The ids of the objects that must be ready before this one is made. What this one refers to, such as a Secret that
	// a stack writes its outputs to, is waited for in any case.
	// +optional
	DependIds []string `json:"dependIds,omitempty"`

	// Whether this one is left out when one that it depends on fails. Addition of Lynq.
	// +kubebuilder:default=true
	// +optional
	SkipOnDependencyFailure *bool `json:"skipOnDependencyFailure,omitempty"`

	// WhenNeeded: the object is kept as the template says. Once: it is made, and left alone after that.
	// +kubebuilder:default=WhenNeeded
	// +optional
	CreationPolicy CreationPolicy `json:"creationPolicy,omitempty"`

	// Delete: the object goes with its tenant, and when the template no longer has it. Retain: it stays.
	// +kubebuilder:default=Delete
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// Stuck: an object of this name that somebody else owns is in the way. Force: it is taken over.
	// +kubebuilder:default=Stuck
	// +optional
	ConflictPolicy ConflictPolicy `json:"conflictPolicy,omitempty"`

	// The object's name. When it is left out, the name in spec.metadata counts.
	// +optional
	NameTemplate string `json:"nameTemplate,omitempty"`

	// The namespace that the object is made in, instead of its tenant's.
	// +optional
	TargetNamespace string `json:"targetNamespace,omitempty"`

	// Labels of the object, beside those in spec.metadata.
	// +optional
	LabelsTemplate map[string]string `json:"labelsTemplate,omitempty"`

	// Annotations of the object, beside those in spec.metadata.
	// +optional
	AnnotationsTemplate map[string]string `json:"annotationsTemplate,omitempty"`

	// Whether those that depend on this object wait until it is ready, or only until it is there.
	// +kubebuilder:default=true
	// +optional
	WaitForReady *bool `json:"waitForReady,omitempty"`

	// How many seconds the object may take to be ready before it counts as failed.
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// apply: server-side apply. merge: a patch. replace: the whole object.
	// +kubebuilder:default=apply
	// +optional
	PatchStrategy PatchStrategy `json:"patchStrategy,omitempty"`

	// Fields that are set when the object is made and left to others after that, as JSONPath: $.spec.replicas.
	// +optional
	IgnoreFields []string `json:"ignoreFields,omitempty"`
}

// UnmarshalJSON takes a manifest without a kind. The type of Spec would refuse it, and one template that does so would keep
// every reader of the list from reading any of them.
func (r *TResource) UnmarshalJSON(data []byte) error {
	type Fields TResource // without this method
	read := struct {
		*Fields
		Spec map[string]any `json:"spec"`
	}{Fields: (*Fields)(r)}
	if err := json.Unmarshal(data, &read); err != nil {
		return fmt.Errorf("read a resource of a template: %w", err)
	}
	r.Spec.Object = read.Spec
	return nil
}

// SkipsOnFailure tells whether the object is left out when one that it depends on fails.
func (r *TResource) SkipsOnFailure() bool { return ptr.Deref(r.SkipOnDependencyFailure, true) }

// WaitsForReady tells whether those that depend on the object wait until it is ready.
func (r *TResource) WaitsForReady() bool { return ptr.Deref(r.WaitForReady, true) }

// SecretRef names a key of a Secret in the same namespace.
type SecretRef struct {
	// The name of the Secret.
	// +kubebuilder:validation:Required
	Name string `json:"name"`
	// The key in the Secret.
	// +kubebuilder:validation:Required
	Key string `json:"key"`
}

// Resources are the lists of a template or tenant. A list is for one kind, whose apiVersion and kind its manifests may leave
// out; manifests take any kind.
type Resources struct {
	// The ServiceAccounts of each tenant.
	// +listType=map
	// +listMapKey=id
	// +optional
	ServiceAccounts []TResource `json:"serviceAccounts,omitempty"`
	// The Deployments of each tenant.
	// +listType=map
	// +listMapKey=id
	// +optional
	Deployments []TResource `json:"deployments,omitempty"`
	// The StatefulSets of each tenant.
	// +listType=map
	// +listMapKey=id
	// +optional
	StatefulSets []TResource `json:"statefulSets,omitempty"`
	// The DaemonSets of each tenant.
	// +listType=map
	// +listMapKey=id
	// +optional
	DaemonSets []TResource `json:"daemonSets,omitempty"`
	// The Services of each tenant.
	// +listType=map
	// +listMapKey=id
	// +optional
	Services []TResource `json:"services,omitempty"`
	// The Ingresses of each tenant.
	// +listType=map
	// +listMapKey=id
	// +optional
	Ingresses []TResource `json:"ingresses,omitempty"`
	// The ConfigMaps of each tenant.
	// +listType=map
	// +listMapKey=id
	// +optional
	ConfigMaps []TResource `json:"configMaps,omitempty"`
	// The Secrets of each tenant.
	// +listType=map
	// +listMapKey=id
	// +optional
	Secrets []TResource `json:"secrets,omitempty"`
	// The PersistentVolumeClaims of each tenant.
	// +listType=map
	// +listMapKey=id
	// +optional
	PersistentVolumeClaims []TResource `json:"persistentVolumeClaims,omitempty"`
	// The Jobs of each tenant.
	// +listType=map
	// +listMapKey=id
	// +optional
	Jobs []TResource `json:"jobs,omitempty"`
	// The CronJobs of each tenant.
	// +listType=map
	// +listMapKey=id
	// +optional
	CronJobs []TResource `json:"cronJobs,omitempty"`
	// The PodDisruptionBudgets of each tenant.
	// +listType=map
	// +listMapKey=id
	// +optional
	PodDisruptionBudgets []TResource `json:"podDisruptionBudgets,omitempty"`
	// The NetworkPolicies of each tenant.
	// +listType=map
	// +listMapKey=id
	// +optional
	NetworkPolicies []TResource `json:"networkPolicies,omitempty"`
	// The HorizontalPodAutoscalers of each tenant.
	// +listType=map
	// +listMapKey=id
	// +optional
	HorizontalPodAutoscalers []TResource `json:"horizontalPodAutoscalers,omitempty"`
	// The Namespaces of each tenant. Addition of Lynq.
	// +listType=map
	// +listMapKey=id
	// +optional
	Namespaces []TResource `json:"namespaces,omitempty"`
	// Objects of each tenant of any kind, such as Terraform.
	// +listType=map
	// +listMapKey=id
	// +optional
	Manifests []TResource `json:"manifests,omitempty"`
}

// List is one of the lists of Resources.
type List struct {
	// Field is its name in the manifest.
	Field string
	// APIVersion and Kind are what its manifests are; empty for any.
	APIVersion, Kind string
	Items            []TResource
}

// Lists returns all lists, in the order of the published kinds.
func (r *Resources) Lists() []List {
	return []List{
		{"serviceAccounts", "v1", "ServiceAccount", r.ServiceAccounts},
		{"deployments", "apps/v1", "Deployment", r.Deployments},
		{"statefulSets", "apps/v1", "StatefulSet", r.StatefulSets},
		{"daemonSets", "apps/v1", "DaemonSet", r.DaemonSets},
		{"services", "v1", "Service", r.Services},
		{"ingresses", "networking.k8s.io/v1", "Ingress", r.Ingresses},
		{"configMaps", "v1", "ConfigMap", r.ConfigMaps},
		{"secrets", "v1", "Secret", r.Secrets},
		{"persistentVolumeClaims", "v1", "PersistentVolumeClaim", r.PersistentVolumeClaims},
		{"jobs", "batch/v1", "Job", r.Jobs},
		{"cronJobs", "batch/v1", "CronJob", r.CronJobs},
		{"podDisruptionBudgets", "policy/v1", "PodDisruptionBudget", r.PodDisruptionBudgets},
		{"networkPolicies", "networking.k8s.io/v1", "NetworkPolicy", r.NetworkPolicies},
		{"horizontalPodAutoscalers", "autoscaling/v2", "HorizontalPodAutoscaler", r.HorizontalPodAutoscalers},
		{"namespaces", "v1", "Namespace", r.Namespaces},
		{"manifests", "", "", r.Manifests},
	}
}
