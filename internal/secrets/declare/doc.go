// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package declare reads the file secrets.yaml of an environment: which secrets there are, how they are
// made, where they are kept, and which stacks read them.
//
// Nouns:
//
//   - The store has the secrets and the book about them. Copies are stores that get the same values.
//   - A generator makes the value of a secret: a password, a token, a key pair, or a certificate.
//   - Parts are the names under which a generator's values are stored. They are valid names of OpenTofu's
//     variables, so that a stack can read a Secret with them through spec.varsFrom.
//
// Invariants:
//
//   - The file has no secret values and no credentials, so it can be in git.
//   - All problems are reported, each with the line and column, and unknown keys with the nearest name.
//   - The package reads no other file, and asks nobody.
package declare
