// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e tries Yuba as a whole: the real program with its own data directory, real tofu, the real API. A test that
// kills something has a Yuba of its own; the others share one and have a namespace each.
package e2e
