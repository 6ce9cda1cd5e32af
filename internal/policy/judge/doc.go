// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package judge finds the policies that concern a stack, and judges plans by them.
//
// Terms:
//
//   - A subject is a stack as policies see it: namespace, name and labels.
//   - A binding has the policies that select a subject, with their rules prepared. Its set is the
//     digest of their specs: with another set, a plan is judged again.
//
// Invariants:
//
//   - A binding is complete or an error: if a policy, or a label that one selects by, cannot be read,
//     there is no binding.
//   - A policy with a rule that cannot be used still binds, and lets nothing pass.
//   - A tenant's own Policy never frees more than a ClusterPolicy allows: see package decide.
//
// The policies are read from the cache of the API, so nothing here blocks.
package judge
