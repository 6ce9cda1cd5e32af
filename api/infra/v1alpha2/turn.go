// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import "time"

// AnnotationTurn is on a Secret whose values are being rotated. Its value is a [SecretTurn] as JSON.
const AnnotationTurn = "yuba.dev/secrets-turn"

// SecretTurn says which of the stacks that read a Secret wait until others have run with its new values.
// Without it, all would run at once.
//
// +kubebuilder:object:generate=false
type SecretTurn struct {
	// Runs is the stack whose turn it is, as NAMESPACE/NAME.
	Runs string `json:"runs"`
	// Waiting are the stacks that wait.
	Waiting []string `json:"waiting"`
	// Until is when they stop waiting.
	Until time.Time `json:"until"`
}
