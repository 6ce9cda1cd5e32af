// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package revisions keeps what a definition was, beside the kind that it declares.
//
// Terms:
//
//   - A revision is a spec of a definition that was accepted. Each change makes a new one, also a change
//     back to an earlier spec, so the numbers only grow.
//   - The target is the revision that instances get; the base is the one that all of them had when the
//     rollout began. They are the same when it is complete.
//   - The ledger is all of that. It is in annotations of the kind's CustomResourceDefinition.
//
// # Why annotations of the CustomResourceDefinition
//
// The ledger changes in the same write as the kind, so a server that ends at any moment leaves both the
// old or both the new. It needs no rights beyond those to serve kinds, is in every backup that has the
// kind, and goes with it. A kind of its own for revisions would need all of these again. The price is
// size: the API allows 256 KiB for all annotations of an object. Specs are compressed together, and those
// of one definition have most of their text in common. Ten revisions of a definition with a schema and a
// program of 30 KiB take about 12 KiB.
//
// Invariants:
//
//   - A ledger has at most [Kept] revisions. The oldest ones go first, the base never does.
//   - Without room for the base there is no base: then all instances get a change at once, and a
//     definition that limits its rollouts is refused before. So is one that alone is too large to be kept.
//   - Each change makes a revision, also of what is too large to be kept: the ledger has its digest.
//   - Icons and other texts for web pages are not kept, and neither is spec.rollout: instances do not
//     depend on them, and going back does not change them.
//   - What is read may be damaged or hostile: it is bounded, and what cannot be read is not there.
package revisions
