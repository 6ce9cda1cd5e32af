// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides what a bridge does with a document and a revision. It is pure: facts in, one
// decision out.
//
// Nouns:
//
//   - Ours is the revision, theirs is the document in the store. Base is what both were when they were
//     equal last. All are digests; empty for none.
//   - A bridge out writes ours to the store. A bridge in publishes theirs.
//   - A conflict is a document that a bridge out would overwrite, and did not write.
//
// Invariants, which are laws in the tests:
//
//   - A bridge out overwrites a document only if it is the base, or a person named its very digest.
//   - A bridge in never writes, and never publishes a document that does not fit.
//   - A document that is gone, unreadable or does not fit never withdraws a revision.
//   - If ours and theirs are equal, nothing is written or published, whatever the base is.
package decide
