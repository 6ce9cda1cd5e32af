// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide says when a source's upstream is looked at, and whether what it has must be fetched. It is pure: facts
// in, one decision out.
//
// The nouns:
//
//   - A look asks an upstream what it has; it is cheap and fetches nothing.
//   - A fresh look was asked for by somebody, and no remembered answer will do.
//   - The artifact is what the source has stored, made of a revision under a configuration.
//
// Invariants:
//
//   - A suspended or deleted source is never looked at.
//   - There is one look of a source at a time.
//   - After a failure the next look comes later than after the one before, and at the interval at the latest.
//   - A source that nothing but its owner can mend waits for its interval, too: it may hang on more than its object.
package decide
