// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package times reads and compares times that may be zero.
package times

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Of returns the time that a field of an object has; zero if the field is not set.
func Of(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// Earlier returns the earlier of two times; a zero time means never.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
