// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides what to do next with a HelmRelease, and why.
//
// [When] decides whether an attempt is due; [Next] decides each step of one. Both are pure functions,
// from facts, which include the time, to one result. A test checks that the package imports no client,
// clock, logger or randomness. Package controller gathers the facts, acts, and records the result.
//
// Nouns:
//
//   - An attempt makes a release what its HelmRelease says, in steps: Helm's operations.
//   - The key is a digest of all inputs of a release: the object's generation, the chart, the versions
//     of ConfigMaps and Secrets.
//   - The stored release is what Helm keeps in the cluster; the history is what the status says of our
//     own versions of it. A stored release that the history does not know is not ours.
//   - A remediation is the step after a failed one: a rollback, or an uninstall.
//
// Invariants, tested with random facts:
//
//   - Nothing is done while the HelmRelease is suspended or moved, or before its chart and its
//     dependencies are ready.
//   - No more upgrades are tried than the policy allows, until an input changes.
//   - A pending release, whose operation was interrupted, is unlocked before anything else.
//   - Nothing is rolled back to a version that is not stored, or is not ours.
//   - A decision that waits for time has a next check.
package decide
