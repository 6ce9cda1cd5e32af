// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"
)

// DeletionPolicy says what happens to an object when its tenant is deleted, or when the template no
// longer has it.
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// CreationPolicy says whether an object follows changes of its template.
// +kubebuilder:validation:Enum=Once;WhenNeeded
type CreationPolicy string

// ConflictPolicy says what to do about an object that has another owner.
// +kubebuilder:validation:Enum=Force;Stuck
type ConflictPolicy string

// PatchStrategy says how to write an object.
// +kubebuilder:validation:Enum=apply;merge;replace
type PatchStrategy string

const (
	// DeletionPolicyDelete: delete the object with its tenant.
	DeletionPolicyDelete DeletionPolicy = "Delete"
	// DeletionPolicyRetain: keep the object, and mark it as orphaned.
	DeletionPolicyRetain DeletionPolicy = "Retain"

	// CreationPolicyWhenNeeded: keep the object as the template says.
	CreationPolicyWhenNeeded CreationPolicy = "WhenNeeded"
	// CreationPolicyOnce: create the object, and never change it afterwards.
	CreationPolicyOnce CreationPolicy = "Once"

	// ConflictPolicyStuck: the tenant waits until the other owner releases the object.
	ConflictPolicyStuck ConflictPolicy = "Stuck"
	// ConflictPolicyForce: take over the object.
	ConflictPolicyForce ConflictPolicy = "Force"

	// PatchStrategyApply is server-side apply.
	PatchStrategyApply PatchStrategy = "apply"
	// PatchStrategyMerge is a strategic merge patch, or a merge patch for kinds without a strategy.
	PatchStrategyMerge PatchStrategy = "merge"
	// PatchStrategyReplace replaces the whole object.
	PatchStrategyReplace PatchStrategy = "replace"
)

// DefaultTimeoutSeconds is how long an object may take to become ready by default.
const DefaultTimeoutSeconds = 300

// TResource is one object of each tenant, with the rules of its lifecycle. All strings in it are
// templates: Go's text/template with the values of the row, such as {{ .uid }}.
type TResource struct {
	// The id of the object for references in the template. It is unique in the template.
	// +kubebuilder:validation:Required
	ID string `json:"id"`

	// The complete manifest of the object. Every string in it is a template. In a list for one
	// kind, apiVersion and kind are optional.
	// +kubebuilder:validation:Required
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec unstructured.Unstructured `json:"spec"`

	// The ids of the objects that must be ready before this one is created. Yuba also waits for
	// objects that this one refers to, such as a Secret with the outputs of a stack.
	// +optional
	DependIds []string `json:"dependIds,omitempty"`

	// Whether to skip this object if one of its dependencies fails. Addition of Lynq.
	// +kubebuilder:default=true
	// +optional
	SkipOnDependencyFailure *bool `json:"skipOnDependencyFailure,omitempty"`

	// WhenNeeded: keep the object as the template says. Once: create it, and never change it
	// afterwards.
	// +kubebuilder:default=WhenNeeded
	// +optional
	CreationPolicy CreationPolicy `json:"creationPolicy,omitempty"`

	// Delete: delete the object with its tenant, or when the template no longer has it. Retain:
	// keep it.
	// +kubebuilder:default=Delete
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// What to do if an object of this name has another owner. Stuck: report a conflict. Force: take
	// it over.
	// +kubebuilder:default=Stuck
	// +optional
	ConflictPolicy ConflictPolicy `json:"conflictPolicy,omitempty"`

	// The name of the object. Defaults to the name in spec.metadata.
	// +optional
	NameTemplate string `json:"nameTemplate,omitempty"`

	// The namespace of the object. Defaults to the namespace of its tenant.
	// +optional
	TargetNamespace string `json:"targetNamespace,omitempty"`

	// Labels of the object, in addition to those in spec.metadata.
	// +optional
	LabelsTemplate map[string]string `json:"labelsTemplate,omitempty"`

	// Annotations of the object, in addition to those in spec.metadata.
	// +optional
	AnnotationsTemplate map[string]string `json:"annotationsTemplate,omitempty"`

	// Whether objects that depend on this one wait until it is ready, or only until it exists.
	// +kubebuilder:default=true
	// +optional
	WaitForReady *bool `json:"waitForReady,omitempty"`

	// How many seconds the object may take to become ready before it counts as failed.
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// How to write the object. apply: server-side apply. merge: patch. replace: replace the whole
	// object.
	// +kubebuilder:default=apply
	// +optional
	PatchStrategy PatchStrategy `json:"patchStrategy,omitempty"`

	// Fields that Yuba sets when it creates the object and ignores afterwards, as JSONPath:
	// $.spec.replicas.
	// +optional
	IgnoreFields []string `json:"ignoreFields,omitempty"`
}

// UnmarshalJSON accepts a manifest without a kind. The type of Spec refuses it, and one such
// template would fail every list request.
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

// SkipsOnFailure reports whether to skip the object if one of its dependencies fails.
func (r *TResource) SkipsOnFailure() bool { return ptr.Deref(r.SkipOnDependencyFailure, true) }

// WaitsForReady reports whether dependants of the object wait until it is ready.
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

// Resources are the objects of a template or tenant. Each list has one kind, whose manifests may
// omit apiVersion and kind; manifests takes any kind.
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
	// Objects of any kind for each tenant, such as Terraform.
	// +listType=map
	// +listMapKey=id
	// +optional
	Manifests []TResource `json:"manifests,omitempty"`
}

// List is one of the lists of Resources.
type List struct {
	// Field is its name in the manifest.
	Field string
	// APIVersion and Kind are those of its manifests; empty for any.
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
