// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package suggest suggests how a state could be split into several.
//
// Nouns:
//
//   - A part is a group of resource instances that could get a state of their own: those of a module, of
//     an owner, or those that change often. What is in no part stays.
//   - An edge is a dependency between parts, or between a part and what stays. After the split the value
//     goes through an output or a contract.
//
// A suggestion is computed from the state alone. Parts whose edges form a cycle cannot be planned one
// after the other; the suggestion says so. The package is pure, and its texts have addresses and ids of
// objects, no other attributes.
package suggest
