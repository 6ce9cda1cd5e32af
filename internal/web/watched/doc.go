// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package watched lists the objects that a person may see, from the watches of this process, and
// copes with APIs that do not serve or let this server watch every kind.
//
// Nouns:
//
//   - A [Kind] is a kind of objects with its type in Go.
//   - [Found] is what a person sees of a kind: objects, or the reason why there are none.
//
// Invariants:
//
//   - Objects are shared with the watches and never changed.
//   - A kind that the API does not serve, or that the person may not list, is no error: Found says so,
//     and a page leaves it out.
//   - Without the right to watch a kind, the server does not try to: objects are then listed as the
//     person, at most [Most], and pages do not follow their changes. Found says if there are more.
package watched
