// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package adopt reports what happens when Yuba replaces tofu-controller on an API.
//
// Nouns:
//
//   - Facts are what is known about one stack, or about the API as a whole.
//   - A finding is one sentence that follows from facts, with the command to use, if any.
//   - The report has all findings.
//
// Invariants:
//
//   - Gathering reads and changes nothing. Findings are computed from facts alone.
//   - A failed read is a finding, too; it never counts as absence.
//   - Findings do not contain values of states or Secrets.
//
// It decides nothing: the controllers decide, from the same objects.
package adopt
