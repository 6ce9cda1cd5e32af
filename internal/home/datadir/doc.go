// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package datadir owns the layout of the directory that holds all data of one Yuba.
//
// Nouns:
//   - The data directory is private (0700) and belongs to one running Yuba at a time.
//   - The lock is an advisory lock on the file "lock", which also names its holder. The kernel
//     releases it when the holder dies, so a lock is never stale.
//   - The format is the number in the file "version": the layout of the directory. Yuba opens every
//     format up to its own and refuses newer ones, because it would not understand what it
//     overwrites.
//
// The package knows names and permissions. The packages that write the named places own their
// content.
package datadir
