// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package policy elects the latest tag of an image.
//
// Nouns:
//
//   - A tag is a name of an image in a registry. Some registries list names that are not valid tags.
//   - A filter selects tags by a regular expression, and may extract the part to compare.
//   - An order is by version, by alphabet or by number.
//
// Invariants:
//
//   - The elected tag is one of the given tags, and no other tag that the policy admits is higher.
//   - The result depends on the set of tags only, not on the order in which a registry lists them.
//   - Tags that the policy cannot compare, such as words for an order by number, are not candidates.
//
// The package makes no requests and has no clock.
package policy
