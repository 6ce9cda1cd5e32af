// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide says what a move does with each object, and which step of the move is next.
//
// Nouns:
//   - A home is an API, with its blob store if Yuba runs there.
//   - The source is the home that objects leave, the target the one that they go to.
//   - A record is what a home knows about the last move of a namespace: its id, the other home, its
//     phase, and the objects that belonged to it.
//   - An active object has a controller that works on it: a stack, a Kustomization, the kinds of
//     tenants. Only active objects are marked and suspended.
//
// Laws, for all facts:
//   - An object at the target is overwritten only if this move created it, or it was equal when this
//     move began, or an earlier move brought it to the source and nobody has changed it since.
//   - From the moment when the first object may have been resumed at the target, nothing is copied to
//     it any more.
//   - Nothing is moved while any object is in conflict or blocked.
//   - An object that arrived with an earlier move is left alone.
package decide
