// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package causes shows failures and drift by their causes: forty stacks with one problem are one row,
// with one action for all of them.
//
// Package cause defines causes. Versions of providers come from the server's index of what runs resolved;
// without the right to read it, people see the rows without versions.
package causes
