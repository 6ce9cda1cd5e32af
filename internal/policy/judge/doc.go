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
//   - A judgement is bounded: the custom rules of all policies have one budget of time, and what is not
//     evaluated in it fails and is tried again. Without the budget, 100 rules of 5 seconds would be one
//     judgement.
//   - A turn is taken for each judgement. Few are given at a time, for the memory of plans and facts. A
//     namespace whose own Policies have custom rules gets one, so a tenant with slow rules delays itself:
//     a reconcile that gets no turn ends and comes back, and its worker serves others.
//   - A tenant's own Policy never frees more than a ClusterPolicy allows: see package decide.
//
// The policies are read from the cache of the API, so finding them does not block.
package judge
