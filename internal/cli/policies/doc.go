// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package policies has the commands "yuba policy …": what policies there are, what they select and
// find, and what a policy would do that is not applied.
//
//   - list, explain and try ask the server; try and explain judge there, so that no plan leaves it.
//   - rules, test and facts of a file need no server.
//
// The commands change nothing: policies are applied with kubectl or from a source.
package policies
