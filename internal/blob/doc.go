// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package blob stores bytes: artifacts, logs, plans, state versions.
//
// A blob is a sequence of bytes under a key ("states/team-a/tfstate-default-vpc/…"). A store is a
// directory or a cloud bucket, named by a URL. Every blob is encrypted with age for one X25519
// recipient, so the key file is enough to recover any blob without Yuba:
//
//	age -d -i DATA_DIR/keys/blob.agekey DATA_DIR/blobs/KEY
//
// Invariants:
//
//   - A blob is complete or absent. Readers never see a part of one, even after a crash during
//     writing.
//   - When Put returns, the blob survives a power cut: file and directories are synced.
//   - A store is encrypted for one recipient for its whole life. Opening it with another key is an
//     error, and never adds blobs that the first key cannot read.
//   - An artifact's key is the digest of its content, and reading it verifies that digest.
//   - Listing yields keys in byte order and holds one directory or page in memory, never the whole
//     store.
//
// Clouds are accessed through gocloud.dev/blob. Directories are not: gocloud's file driver does not
// sync its writes, lists its own temporary files, walks the whole tree again for every thousand
// keys, and can miss keys at the end of a page, because it walks in another order ("a/x" before
// "a-b") than the one in which it resumes. The layout of the files is the same.
//
// [Plain] is a bucket that other programs read and write, too, such as a registry's: it has the same
// guarantees, but its objects are not encrypted.
//
// The package does not know the meaning of blobs, and does not decide what to delete when.
package blob
