// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests Yuba as a whole: the real program with its own data directory, real tofu, the
// real API. A test that kills processes has its own Yuba; the others share one, with a namespace
// each.
package e2e
