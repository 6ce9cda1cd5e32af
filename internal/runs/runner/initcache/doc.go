// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package initcache keeps the results of init in memory, for other stacks with the same
// requirements: hundreds of stacks may share one, and each saves a process.
//
// # Invariants
//
//   - An [Init] contains only links to providers of a mirror, the list of modules of the same
//     source, and the lock file. Anything else in .terraform makes it unusable for others.
//   - It is used only while the mirror offers the same versions and files as before.
package initcache
