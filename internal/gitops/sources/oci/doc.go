// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package oci fetches from OCI registries what an OCIRepository asks for.
//
// The nouns:
//
//   - A repository is a name in a registry below which there are artifacts, each known by its digest. Tags are names of
//     digests, and move.
//   - A reference says which artifact is wanted: a digest, the highest version within a range, or a tag.
//   - A look finds out which digest a reference names now, and reads that artifact's manifest if it is a new one.
//   - A layer is what an artifact consists of; the one that is selected is the tree, packed, or is kept as it is.
//   - A signature says that somebody who has a key vouches for a digest; cosign puts it beside the artifact.
//
// Invariants:
//
//   - A look that finds nothing new costs one request for the digest (and one for the tags, for a range), and is shared
//     by all who ask the same upstream with the same credentials.
//   - Whatever a registry sends has the digest that was asked for, or is an error.
//   - Every answer, layer, signature and list has a limit, and every request the time that its source allows.
//   - With verification asked for there is no artifact without a signature of one of the keys over its very digest.
//   - Errors are *source.FetchError, in words of our own: what a registry answers is not quoted, and no credentials are
//     in them.
//
// The package knows no objects of the API, stores nothing, and verifies neither keyless signatures nor notation's.
package oci
