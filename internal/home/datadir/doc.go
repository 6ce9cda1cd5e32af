// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package datadir owns the layout of the directory that holds everything one Yuba keeps.
//
// Nouns:
//   - The data directory is private (0700) and belongs to one running Yuba at a time.
//   - The lock is an advisory lock on the file "lock", which also says who holds it. The kernel releases it when its
//     holder dies, so a lock is never stale.
//   - The format is the number in the file "version": the layout of the directory. A Yuba opens every format up to its
//     own and refuses newer ones, because it would not understand what it overwrites.
//
// The package knows names and protection; what is inside the named places belongs to the packages that write them.
package datadir
