// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package paths names parts of a contract's value.
//
// Nouns:
//
//   - A path leads from a value to a part of it, in the notation of OpenTofu: subnets[*].id,
//     zones[0], tags["a.b"]. The empty path is the value itself. A path is relative: messages put
//     the name of the contract or variable before it (base.subnets[*].id).
//   - A step is a name (an attribute of an object or a key of a map: a user writes both the same
//     way), an index, or each ([*]: every element of a list, set, map or tuple).
//   - A set of paths is the part of a value that a consumer reads, with everything below each path.
//
// Invariants:
//
//   - Parse(p.String()) is p, for every path.
//   - A set has one form: paths below another path of the set are dropped.
//   - The zero Set is empty; All is everything. A consumer that reads nothing is possible.
//
// The package does not know types: package shape checks that a path exists.
package paths
