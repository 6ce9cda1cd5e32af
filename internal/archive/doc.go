// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package archive makes, opens and checks source archives.
//
// The nouns:
//
//   - A tree is a directory of files as a stack's root module and its local
//     modules need it.
//   - An archive is a tree as gzipped tar, the format of Flux's artifacts.
//   - A digest is "sha256:" and the hex digest of an archive's bytes.
//   - A manifest is what was in a tree right after it was extracted, so that
//     later changes can be found without reading a file.
//
// Invariants:
//
//   - Packing is deterministic: the same files, whoever owns them, wherever
//     and whenever they were written, give the same bytes.
//   - What tofu itself keeps beside a module (.terraform, states, crash logs)
//     and .git never get into an archive, the dependency lock file always does.
//   - Nothing is written outside of the extraction's directory, no link leads
//     out of it, and nothing but files, directories and links comes to be.
//   - A tree becomes visible whole, after its digest was verified, or not at all.
//
// The package fetches nothing and stores nothing: it reads and writes streams
// and directories.
package archive
