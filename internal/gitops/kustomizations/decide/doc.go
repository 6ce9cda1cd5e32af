// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides what to do next with a Kustomization, and why.
//
// [Decide] is a pure function from [Facts], which include the time, to one [Decision]. A test
// checks that the package imports no client, clock, logger or randomness. Package controller
// gathers the facts, acts, and records the result.
//
// Nouns:
//
//   - The key is a digest of all inputs of a build: the object's generation, the source's artifact,
//     the versions of ConfigMaps and Secrets.
//   - A dirty object was changed or removed since it was applied.
//
// Invariants, tested with random facts:
//
//   - Nothing is applied while the Kustomization is suspended or deleted, or before its
//     dependencies are ready.
//   - A failed attempt is repeated only after a change or after the retry interval.
//   - Unchanged objects are applied again only on request, or if the cluster is not watched.
//   - Many objects are pruned only after confirmation of this revision, or when the Kustomization
//     is deleted.
//   - A decision that waits for time has a next check.
package decide
