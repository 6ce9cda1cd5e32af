// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package usage knows which stack uses which version of a module or provider. It learns this from
// ended runs, so it is exact: what the tool resolved, not what the configuration allows.
//
// Nouns:
//
//   - A set is what one run resolved: each call of a module from elsewhere, and each provider.
//   - An entry has the sets of one stack: the one of its last apply, or of a plan that found no
//     changes, and the one of a newer plan with changes, which is not applied yet.
//   - A query names a module or provider and a range of versions, as people write them:
//     acme/vpc/aws@<2.
//   - A constraint is a range of versions, with the meaning that it has in OpenTofu.
//
// Invariants:
//
//   - A destroyed stack uses nothing. A failed plan changes nothing.
//   - A speculative plan never gets here.
//   - Memory is bounded by the number of stacks and the runner's limit of modules for each.
//   - An entry that was stored replaces nothing that a run of this server has told since.
//
// The package does no I/O, knows no runs and authorises nobody: its callers filter by namespace.
package usage
