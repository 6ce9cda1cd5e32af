// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides what to do next with a Kustomization, and why.
//
// [Decide] is a pure function: [Facts] in, one [Decision] out. The facts include the time. The
// package has no client, clock, logger or randomness, and a test checks its imports. Package
// controller gathers the facts, acts, and records the result.
//
// Nouns:
//
//   - The key is a digest of everything that a build depends on: the object's generation, the source's
//     artifact, and the versions of the ConfigMaps and Secrets that it reads.
//   - A dirty object was changed or removed since it was applied.
//
// Invariants, which are tested with random facts:
//
//   - Nothing is applied while the Kustomization is suspended or deleted, or before its dependencies
//     are ready.
//   - A failed attempt is repeated only after a change or after the retry interval.
//   - Unchanged objects are applied again only on request, or if the cluster is not watched.
//   - Many objects are pruned only after confirmation of this revision, or on deletion of the
//     Kustomization.
//   - A decision that waits for time has a next check.
package decide
