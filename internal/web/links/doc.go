// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package links leads from outside to the exact page: from alerts and commit statuses to the plan that
// waits, the run that failed, or the object.
//
// It is pure, and does not know under which address people reach the page.
package links
