// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package oci fetches artifacts of OCIRepositories from OCI registries.
//
// Nouns:
//
//   - A repository is a name in a registry with artifacts, each identified by its digest. Tags are
//     names of digests, and move.
//   - A reference selects an artifact: a digest, the highest version within a range, or a tag.
//   - A look finds the digest that a reference names now, and reads a new artifact's manifest.
//   - A layer is a part of an artifact; the selected one is the packed tree, or is kept unchanged.
//   - A signature vouches for a digest with a key; cosign stores it beside the artifact.
//
// Invariants:
//
//   - A look without news costs one request for the digest (and one for the tags of a range), and
//     is shared by all users of the same upstream with the same credentials.
//   - Everything a registry sends has the requested digest, or is an error.
//   - Every response, layer, signature and list is limited, and every request has the timeout of
//     its source.
//   - With verification there is no artifact without a signature of one of the keys over exactly
//     its digest.
//   - Errors are *archive.FetchError in our own words: they quote neither the registry's responses
//     nor credentials.
//
// The package does not know API objects, stores nothing, and supports neither keyless signatures
// nor notation.
package oci
