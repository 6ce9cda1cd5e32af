// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package reads finds what a stack reads, and proves that a run is unnecessary when nothing of that has
// changed.
//
// The nouns:
//
//   - A program is a stack's source as it is now: an archive, and what its root module declares.
//   - The part is the part of the archive that the root module can read. A commit beside it changes nothing.
//   - The configuration is everything that decides what a plan says, apart from the world: the part, the
//     inputs, the backend, the tool. Its digest is in the status of the stack.
//   - The world is what a program reads while planning and no digest covers, such as a data source.
//   - Remote modules are modules that are not in the source. They are settled once a run has said that they
//     cannot change.
//
// The files:
//
//	sources.go, sourceseen.go   archives of sources; modules.go the modules in them
//	tree.go, part.go            the index of an archive, and a root module's part of it
//	configuration.go            program and inputs in one; program.go and narrow.go fill it
//	remotemodules.go            what runs found out about remote modules
//	references.go               which objects a stack reads, and which archives it needs
//	changed.go                  the files that differ between two archives
//
// # Invariants
//
//   - Where the part is not plain to see, the whole archive counts.
//   - Digests are recorded in statuses. What they are made of may only grow where the new is unset.
//   - Secrets are read when they are needed, and kept nowhere.
//
// The package starts no runs and writes no objects.
package reads
