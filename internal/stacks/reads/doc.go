// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package reads finds the inputs of a stack, and proves that a run is unnecessary if none of them
// changed.
//
// The nouns:
//
//   - A program is a stack's current source: an archive, and what its root module declares.
//   - The part is the part of the archive that the root module can read. Commits to other files do
//     not affect the stack.
//   - The configuration has all inputs of a plan except the world: the part, the inputs, the
//     backend, the tool. The stack's status has its digest.
//   - The world is external data without a digest that a program reads while planning, such as data
//     sources.
//   - Remote modules are not in the source. They are settled once a run proves them immutable.
//
// The files:
//
//	sources.go, sourceseen.go   archives of sources; modules.go the modules in them
//	tree.go, part.go            the index of an archive, and a root module's part of it
//	configuration.go            program and inputs in one; program.go and narrow.go fill it
//	lostfields.go               variables of applications that a module does not declare any more
//	remotemodules.go            findings of runs about remote modules
//	references.go               which objects a stack reads, and which archives it needs
//	changed.go                  the files that differ between two archives
//
// # Invariants
//
//   - If the part is not certain, the whole archive counts.
//   - Statuses record digests. A new field must not change the digest while it is unset.
//   - Secrets are read when needed and not kept.
//
// The package starts no runs and writes no objects.
package reads
