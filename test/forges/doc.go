// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package forges contains the tests with a real Gitea: "make test-forges" builds it once, and runs them.
package forges
