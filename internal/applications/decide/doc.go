// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides what happens to an instance next, and how its status says it.
//
// [Instance] is a function of plain facts: no client, clock or logger. A test checks the imports.
//
// # Terms
//
//   - The object is what the instance becomes: a stack or a release.
//   - An object is current if it is as the instance and the definition want it.
//   - An instance is kept while it has Yuba's finalizer.
//   - An instance is abandoned if it is deleted and leaves what it made.
//
// # Laws
//
// Whatever the facts, these hold (and are tested on all combinations):
//
//   - An instance is released only when it is being deleted and has no object.
//   - The object of a living instance is never deleted, nor a namespace that has something in it.
//   - Nothing is written while the definition cannot be used, the instance asks for what is not
//     allowed, or another owner has the object.
//   - Whatever is not done is said: every standing has a phase, a reason and a message.
package decide
