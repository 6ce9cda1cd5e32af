// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package archive creates, extracts and verifies source archives.
//
// Nouns:
//
//   - A tree is a directory of files that a stack's root module and its local modules need.
//   - An archive is a tree as gzipped tar, the format of Flux's artifacts.
//   - A digest is "sha256:" and the hex digest of an archive's bytes.
//   - A manifest lists a tree right after extraction, so that later changes can be found without
//     reading files.
//
// Invariants:
//
//   - Packing is deterministic: the same files give the same bytes, regardless of owner, place and
//     time.
//   - Files that tofu keeps beside a module (.terraform, states, crash logs) and .git are never
//     packed; the dependency lock file always is.
//   - Extraction writes nothing outside of its directory, refuses links that lead out of it, and
//     creates only files, directories and links.
//   - A tree becomes visible as a whole, after its digest was verified, or not at all.
//
// The package fetches and stores nothing: it reads and writes streams and directories.
package archive
