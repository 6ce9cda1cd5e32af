// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

// registry has all rules.
var registry = []Rule{}
