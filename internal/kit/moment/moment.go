// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package moment compares times that may be zero.
package moment

import "time"

// Earlier returns the earlier of two times; a zero time means never.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
