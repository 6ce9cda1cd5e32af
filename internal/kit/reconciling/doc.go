// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package reconciling holds what reconcilers of all kinds have in common: what triggers them, how they end after a
// conflict, and how they write statuses and events.
package reconciling
