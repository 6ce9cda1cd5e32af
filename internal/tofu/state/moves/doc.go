// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package moves rearranges what states contain: within a state, between states, out of them.
//
// Nouns:
//
//   - A step moves what is at an address, removes it from its state, or replaces a provider.
//   - An address is one as tofu writes it: of a module with everything below, of a resource with all
//     instances, or of one instance. A module without a key stands for all its instances.
//   - A document is a state of format version 4, parsed as far as steps need it; the rest of it is kept.
//
// Invariants:
//
//   - The package is pure. It makes new documents of old ones, and nobody has written them yet.
//   - Steps are taken in their order. One that finds nothing, or a place that is taken, ends it all: then
//     no document is changed.
//   - No instance is lost or doubled: what the documents have together afterwards is what they had, without
//     what was removed.
//   - Dependencies between instances follow. Those on what is in another state now are dropped, because
//     tofu looks for them in the same state.
//   - Serials grow by one, lineages stay. Only documents that change are returned.
//   - Errors and reports contain addresses, never attributes.
package moves
