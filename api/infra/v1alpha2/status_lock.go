// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// LockStatus describes the lock of the state.
type LockStatus struct {
	// The id of the last lock that was broken.
	// +optional
	LastApplied string `json:"lastApplied,omitempty"`

	// The id of the lock that another lock holder has.
	// +optional
	Pending string `json:"pending,omitempty"`
}
