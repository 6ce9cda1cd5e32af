// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package reconciling contains common parts of reconcilers: what triggers them, how they end after
// a conflict, and how they write statuses and events.
package reconciling
