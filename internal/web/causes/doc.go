// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package causes shows failures and drift by their causes: forty stacks with one problem are one row,
// with one action for all of them.
//
// What a cause is, package cause says. Versions of providers come from the server's index of what runs
// resolved; who may not read that sees the rows without them.
package causes
