// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package sealed writes and reads sealed archives: what a home knows about stacks, in one file that is
// kept for years.
//
// A sealed archive is a tar file with exactly these members, in this order:
//
//	README.txt        how to read the archive without Yuba
//	archive.json      the header: format, home, time, stacks, recipients, sizes and digests of the others
//	archive.json.sig  the Ed25519 signature of archive.json by the home's key
//	signer.pem        the public key of the signature
//	index.json.age    the index: every member of the content with its size and digest, encrypted
//	content.tar.age   the content, a tar archive, encrypted
//
// Standard tools read it:
//
//	tar -xOf FILE content.tar.age | age -d -i KEY | tar -x
//	sha256sum -c SHA256SUMS
//	openssl pkeyutl -verify -pubin -inkey signer.pem -rawin -in archive.json -sigfile archive.json.sig
//
// Nouns:
//   - A recipient is a public key of age. Whoever has the identity of one of them reads the archive.
//   - The signer is the home that wrote the archive. Its signature covers the header, and the header
//     covers everything else by digests of the encrypted bytes: the archive is verified without an
//     identity.
//
// Invariants:
//   - Clear text never touches the disk: large members are spooled in files without a name that are
//     encrypted with a key that only this process has.
//   - Neither writing nor reading needs memory for a member.
//   - An archive is written once: nothing that exists is replaced, neither a file nor an object in a
//     bucket.
//   - A reader trusts nothing: names, sizes, order and digests are checked, and a member is only
//     handed out as a stream whose end reports whether it was the signed one.
//
// The package neither knows what the members mean nor talks to a home. It is not package archive,
// which packs source trees for runs.
package sealed
