// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	corev1 "k8s.io/api/core/v1"
)

// RunnerPodTemplate configures the Pods of runs.
type RunnerPodTemplate struct {
	// Labels and annotations of the Pods.
	// +optional
	Metadata RunnerPodMetadata `json:"metadata,omitempty,omitzero"`

	// Settings of the Pods and of their container.
	// +optional
	Spec RunnerPodSpec `json:"spec,omitempty,omitzero"`
}

// RunnerPodMetadata is added to the metadata of the Pods of runs.
type RunnerPodMetadata struct {
	// Labels to add.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations to add.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// RunnerPodSpec overrides parts of the Pods of runs.
type RunnerPodSpec struct {
	// The image of the container, instead of the server's default.
	// +optional
	Image string `json:"image,omitempty"`

	// Secrets and ConfigMaps whose keys become environment variables of the container. If several
	// have the same key, the last one wins.
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// Environment variables of the container. They override envFrom.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	Env []corev1.EnvVar `json:"env,omitempty" patchMergeKey:"name" patchStrategy:"merge"`

	// Labels that the Pod's node must have.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Scheduling constraints of the Pod: node affinity, Pod affinity and anti-affinity.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// Taints that the Pod tolerates.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Where volumes are mounted in the container.
	// +optional
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`

	// Volumes of the Pod.
	// +optional
	Volumes []corev1.Volume `json:"volumes,omitempty"`

	// Containers that run before the container of the run.
	// +optional
	InitContainers []corev1.Container `json:"initContainers,omitempty"`

	// Entries for the Pod's hosts file.
	// +optional
	HostAliases []corev1.HostAlias `json:"hostAliases,omitempty"`

	// The priority class of the Pod.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// The security context of the container.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// CPU and memory requests and limits of the container.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}
