// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package blob keeps bytes: artifacts, logs, plans, state versions.
//
// A blob is a sequence of bytes under a key ("states/team-a/tfstate-default-vpc/…"). A store is a directory or a
// bucket of a cloud, named by a URL. Every blob is sealed with age for one X25519 recipient, so that whoever holds the
// key file recovers any blob without Yuba:
//
//	age -d -i DATA_DIR/keys/blob.agekey DATA_DIR/blobs/KEY
//
// Invariants:
//
//   - A blob is whole or absent. A reader never sees half of one, whatever died while it was written.
//   - When Put returns, the blob survives a power cut: file and directories are synced.
//   - A store is sealed for one recipient for its whole life; opening it with another key is an error, not a second
//     set of blobs that only half of the keys can read.
//   - An artifact's key is the digest of its content, and reading it verifies that digest.
//   - Listing yields keys in byte order and holds one directory or page in memory, never the whole store.
//
// Clouds are reached through gocloud.dev/blob. The directory is our own: gocloud's file driver does not sync what it
// writes, leaves temporary files beside blobs, where its listing reports them, walks the whole tree again for every
// thousand keys, and can miss keys at a page's end, because it walks in another order ("a/x" before "a-b") than the one
// it resumes by. The files are laid out as that driver lays them out.
//
// The package knows nothing of what the bytes mean, and does not decide what is deleted when.
package blob
