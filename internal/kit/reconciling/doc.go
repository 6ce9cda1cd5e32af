// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package reconciling contains common parts of reconcilers: what triggers them, how they end after
// a conflict, their backoff, and how they write statuses and events. An error that the user can fix is
// not a failed reconciliation; it is a condition of the object, with its own interval.
package reconciling
