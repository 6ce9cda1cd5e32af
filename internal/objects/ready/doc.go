// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package ready tells from an object alone whether it is what its manifest says, so that others that build on it can be made.
//
// Nouns:
//
//   - Ready: what the object says of its present generation is that it is there for others.
//   - Failed: it will not be ready unless somebody changes something.
//   - A kind of Kubernetes: one of the groups that every cluster serves. Their rules are known, and a kind of theirs that says
//     nothing of itself is ready once it is there.
//   - A custom kind: any other. It is ready when its condition Ready says so. One that says nothing yet is not ready: its
//     controller may not have seen it. Only who knows that the kind has no status can say otherwise.
//
// Invariants:
//
//   - What an object said of an older generation does not count.
//   - An object that is being deleted is not ready.
//   - A stack is ready when it was applied, not when a plan of it waits.
//   - Ready and Failed exclude each other; what is not ready has a reason and a message.
//
// The package does not know how long an object has been on its way.
package ready
