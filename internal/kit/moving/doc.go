// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package moving knows the marks that "yuba move" and "yuba hand-over" set on objects that leave a home.
//
// Nouns:
//
//   - A home is an API with its blob store.
//
//   - A moved object is marked at the home that it left. It stays there, suspended, as the way back.
//     Its controller does not work on it, and its deletion changes nothing but the object itself.
//
//   - An arriving object is marked at its new home until all its data is there.
//
//   - A handed-over stack is marked in the same way, for an owner without a home: plain tofu, or
//     another tool. "yuba hand-over" sets the mark, and "yuba take-back" removes it.
//
// Invariant: at most one home works on an object. So a mark that cannot be read counts as a mark.
//
// The package reads and writes marks. It does not know kinds, and moves nothing.
package moving
