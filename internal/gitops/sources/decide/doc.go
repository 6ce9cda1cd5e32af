// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides when to look at a source's upstream, and whether to fetch its content. It
// is pure: facts in, one decision out.
//
// Nouns:
//
//   - A look queries the current revision of an upstream; it is cheap and fetches nothing.
//   - A fresh look was requested, so a shared earlier one is not sufficient.
//   - The artifact is what the source has stored: a revision under a configuration.
//
// Invariants:
//
//   - A suspended or deleted source never looks.
//   - A source has one look at a time.
//   - After a failure the next look comes later than after the one before, and at the latest after
//     the interval.
//   - A stalled source also looks at its interval: it may depend on more than its object.
package decide
