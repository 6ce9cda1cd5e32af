// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package audit defines the audit log of policy decisions, and verifies it.
//
// Nouns:
//
//   - A record says that policies decided about a plan, that a person approved one, or that an apply
//     or a destruction began: who, from where, when, about which digests, with which verdict.
//   - The records of one stack, by namespace and name, are its chain. They are numbered from 1. Each
//     has the digest of the one before.
//   - An entry is a record with its own digest, as it is stored and exported.
//
// # What a chain proves
//
// A record that was changed, removed or exchanged breaks the chain at that place. Whoever can write
// the store and has its key can also compute a new chain; and a chain that was cut at its end is a
// chain. Both are found by comparison with something that was kept elsewhere: an earlier export, or
// the number and digest in the status of the stack.
//
// Invariants:
//
//   - A digest is that of the canonical form: JSON without white space, members sorted by name. So
//     tools may format an export without breaking it.
//   - Verification needs the entries only: neither the store nor the stack.
package audit
