// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package reads finds what a stack reads, and proves that a run is unnecessary if none of it
// changed.
//
// The nouns:
//
//   - A program is a stack's current source: an archive, and what its root module declares.
//   - The part is the part of the archive that the root module can read. Other commits change
//     nothing.
//   - The configuration has all inputs of a plan except the world: the part, the inputs, the
//     backend, the tool. The stack's status has its digest.
//   - The world is what a program reads while planning without a digest, such as data sources.
//   - Remote modules are not in the source. They are settled once a run proves them immutable.
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
//   - If the part is not certain, the whole archive counts.
//   - Statuses record digests. Their input may only grow where new fields are unset.
//   - Secrets are read when needed, and kept nowhere.
//
// The package starts no runs and writes no objects.
package reads
