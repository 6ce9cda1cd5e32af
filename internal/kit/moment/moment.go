// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package moment compares moments of which either may be missing.
package moment

import "time"

// Earlier is the earlier one of two moments; a zero time is never.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
