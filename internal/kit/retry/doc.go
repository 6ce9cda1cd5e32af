// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package retry defines the backoff of failed reconciliations, usually because the API is
// unavailable. An error that the user can fix is not a failed reconciliation; it is a condition of
// the object, with its own interval.
//
// The backoff of each object doubles from a few milliseconds to [Longest]. The default of
// Kubernetes' libraries grows to a quarter of an hour, and objects would stay blocked that long
// after an outage.
package retry
