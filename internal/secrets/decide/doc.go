// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides what happens to the secrets of an environment, and what the next step of a
// rotation is. It is pure: facts in, decisions out; the values themselves are made elsewhere.
//
// Nouns:
//
//   - A secret is made by a generator and has one or more parts, such as a key pair's private and
//     public key. Parts are the names under which values are stored.
//   - A document is everything in one place of a store: values by part, and the book.
//   - The book says which generator made which secret and when, and how far a rotation is. It has no
//     values.
//   - A dependent is a stack that reads the secrets. Dependents run one after the other.
//   - A rotation has two steps. The first one adds the new value, and the old one stays valid as
//     PART_previous. The second one removes the old value. Dependents run after each.
//
// Invariants, which are laws in the tests:
//
//   - A value that a dependent may still use is never removed from the document: in the first step and
//     on the way back, both values are in it; in the second step, the old one stays as PART_retired
//     until all dependents have run.
//   - A change of a rotation is one write of one document: values and book change together, so that a
//     process that is killed leaves a state from which the next call continues.
//   - A step never overwrites or removes the value of somebody else, see [Theirs].
//   - A secret whose generator changed is reported and kept. Only a rotation replaces a value.
//   - Values that nobody declared are kept.
package decide
