// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package layout checks which packages import what, where .golangci.yml would need a rule for each
// package: dependencies and packages that only their owners may import.
package layout
