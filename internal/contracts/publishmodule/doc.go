// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package publishmodule writes the module through which a producer gives the value of a contract, so that
// OpenTofu itself checks it: a variable of the contract's type, and an output with its value.
//
// Nouns:
//
//   - A guard is a validation of the variable that refuses null where the contract does. OpenTofu's types
//     allow null everywhere.
//   - A condition is a validation of the contract in OpenTofu's language. Those that it cannot say are in
//     a comment; Yuba checks them.
//
// Invariants, which are laws in the tests with OpenTofu:
//
//   - A value that fits the contract passes, also while parts of it are unknown.
//   - A value that lacks a required attribute, has null in its place or another type is refused, and the
//     message names the attribute.
//   - The files depend on nothing but the version that is given. No text of a contract is evaluated:
//     messages and names are quoted.
//
// The package neither packs nor serves files.
package publishmodule
