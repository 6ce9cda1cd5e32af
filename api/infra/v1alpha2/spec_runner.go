// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	corev1 "k8s.io/api/core/v1"
)

// RunnerPodTemplate says what the Pods of runs look like.
type RunnerPodTemplate struct {
	// Labels and annotations of the Pods.
	// +optional
	Metadata RunnerPodMetadata `json:"metadata,omitempty,omitzero"`

	// Settings of the Pods and of their container.
	// +optional
	Spec RunnerPodSpec `json:"spec,omitempty,omitzero"`
}

// RunnerPodMetadata is what is added to the metadata of runs' Pods.
type RunnerPodMetadata struct {
	// Labels to add.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations to add.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// RunnerPodSpec overrides parts of runs' Pods.
type RunnerPodSpec struct {
	// The image of the container, instead of the server's default.
	// +optional
	Image string `json:"image,omitempty"`

	// Secrets and ConfigMaps whose keys become environment variables of the container. The last one with a key wins.
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// Environment variables of the container. They win over envFrom.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	Env []corev1.EnvVar `json:"env,omitempty" patchMergeKey:"name" patchStrategy:"merge"`

	// Labels that the Pod's node must have.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Nodes and other Pods that the Pod is drawn to or kept away from.
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

	// Containers that run before the run's own.
	// +optional
	InitContainers []corev1.Container `json:"initContainers,omitempty"`

	// Names that the Pod resolves by itself.
	// +optional
	HostAliases []corev1.HostAlias `json:"hostAliases,omitempty"`

	// The priority class of the Pod.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// The security context of the container.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// CPU and memory that the container asks for and may use.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}
