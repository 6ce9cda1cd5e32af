// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package own keeps the registry's own providers: those that its users publish.
//
// Nouns:
//
//   - A namespace has signing keys, OpenPGP public keys, in signing-keys.json. Only what one of them
//     signed can be published, and clients verify it with the same keys.
//   - An upload is a tar archive with the files of a release: SHA256SUMS, SHA256SUMS.sig, an archive
//     for each platform, and if there is one terraform-registry-manifest.json.
//
// Invariants:
//
//   - An upload is stored completely or not at all: names, sums, signature and the validity of the
//     key are checked on disk before the first file goes into the bucket, and SHA256SUMS, without
//     which no program finds the release, goes there last.
//   - A published version never changes. The same upload again succeeds and changes nothing.
//   - Removing a key hides no release: what it signed is still served with that key.
//   - A release says if none of its keys verifies its signature: whoever writes to the bucket can put one
//     there. Clients that do not verify it themselves must not get it.
//   - Changed keys reach all processes that share the bucket within a minute.
//
// The layout of the bucket is boring-registry's, see package layout, and releases that it published
// are served, too. Nothing is listed on the hot path: see [Store.Run].
package own
