// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package filetree walks and removes directory trees of untrusted programs: deeper than the longest
// path, with millions of names in one directory, with modes that deny access, and changing during
// the walk.
//
// It opens each name in its directory and follows no links, so it never leaves the tree. It reads
// names in chunks and limits open descriptors. The caller sets the limits of a tree.
package filetree
