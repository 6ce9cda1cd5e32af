// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionReady is the condition of all kinds.
const ConditionReady = "Ready"

// The reasons of an ExternalSecret's condition Ready.
const (
	ReasonSecretSynced      = "SecretSynced"
	ReasonSecretSyncedError = "SecretSyncedError"
	ReasonSecretDeleted     = "SecretDeleted"
	ReasonSecretMissing     = "SecretMissing"
)

// The reasons of a store's condition Ready.
const (
	ReasonStoreValid            = "Valid"
	ReasonInvalidStore          = "InvalidStoreConfiguration"
	ReasonInvalidProviderConfig = "InvalidProviderConfig"
	ReasonValidationFailed      = "ValidationFailed"
)

// The reasons of events.
const (
	ReasonCreated               = "Created"
	ReasonUpdated               = "Updated"
	ReasonDeleted               = "Deleted"
	ReasonUpdateFailed          = "UpdateFailed"
	ReasonMissingProviderSecret = "MissingProviderSecret"
)

// Condition is a condition, without the generation that later kinds record.
type Condition struct {
	// Type is the condition's name.
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`
	// Reason is a word for programs.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
	// LastTransitionTime is when the status changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
}

// Find returns a condition, or the zero condition.
func Find(list []Condition, kind string) Condition {
	for _, c := range list {
		if c.Type == kind {
			return c
		}
	}
	return Condition{}
}

// With returns the conditions with another one of its type. If its status is the same, it keeps the time of the
// transition.
func With(list []Condition, c Condition) []Condition {
	out := []Condition{}
	for _, old := range list {
		if old.Type != c.Type {
			out = append(out, old)
		} else if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	return append(out, c)
}
