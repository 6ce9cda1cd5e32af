// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout says how a change of the definition reaches its instances.
type Rollout struct {
	// How many instances may be changed at the same time and not be ready yet: a number, or a share
	// such as 10%. With a limit, the rollout pauses when a changed instance fails. Without it, all
	// instances are changed at once.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == string ? self.matches('^([1-9][0-9]?|100)%$') : self > 0",message="a positive number, or a share from 1% to 100%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// Changes no further instance while true. Instances that have the change keep it.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// How long a changed instance may take to become ready before it counts as failed; 30m by default.
	// The time during which a plan waits for approval does not count.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s')",message="at least 10s"
	// +optional
	Deadline *metav1.Duration `json:"deadline,omitempty"`
}

// RolloutPhase is a rollout in one word.
//
// +kubebuilder:validation:Enum=InProgress;Paused;Failed;Complete
type RolloutPhase string

// The phases of a rollout.
const (
	// RolloutInProgress: some instances do not have the change, or are not ready yet.
	RolloutInProgress RolloutPhase = "InProgress"
	// RolloutPaused: spec.rollout.paused stops it.
	RolloutPaused RolloutPhase = "Paused"
	// RolloutFailed: an instance failed, or was not ready in time. The rollout goes on when it is ready,
	// or when the definition changes.
	RolloutFailed RolloutPhase = "Failed"
	// RolloutComplete: all instances have the change.
	RolloutComplete RolloutPhase = "Complete"
)

// RolloutStatus is how far a change has come.
type RolloutStatus struct {
	// The rollout in one word.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty"`

	// The revision of the definition that the instances get. Each accepted change makes a new one.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// The revision that all instances had before.
	// +optional
	BaseRevision int64 `json:"baseRevision,omitempty"`

	// When the rollout began. A further change continues an unfinished rollout.
	// +optional
	Began *metav1.Time `json:"began,omitempty"`

	// How many instances there are.
	// +optional
	Total int32 `json:"total"`

	// How many of them have the change, or need none.
	// +optional
	Updated int32 `json:"updated"`

	// Instances that stop the rollout, as NAMESPACE/NAME; the first ones if there are many.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Failed []string `json:"failed,omitempty"`

	// The progress in words.
	// +optional
	Message string `json:"message,omitempty"`
}
