// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package release knows what a release of a provider is made of, and verifies it. The mirror and the
// registry's own providers share it.
//
// A release is one version: an archive for each platform, a list of their SHA-256 sums, and a
// detached OpenPGP signature of that list.
//
// Invariants:
//
//   - [Verify] accepts a signature only by one of the keys given, and of a key that is neither
//     revoked nor, at the time given, expired.
//   - [ParseSums] accepts a list in which no file has two sums.
//   - Nothing is read without a limit, and an archive's hash is computed without unpacking it to
//     disk or holding a file of it in memory.
//
// The package neither stores nor downloads.
package release
