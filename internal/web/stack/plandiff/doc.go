// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package plandiff makes the view of a plan for the page: which resources change, how and why, filtered
// and in parts, each with its difference line by line.
//
// It is pure: a plan in, plain data out. The plan is redacted already; the package makes its text
// printable and cuts what is too long.
package plandiff
