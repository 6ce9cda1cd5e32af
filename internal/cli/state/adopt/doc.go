// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package adopt tells what happens when Yuba takes the place of tofu-controller on an API.
//
// Nouns:
//
//   - Facts are what was read about one stack, or about the API as a whole.
//   - A finding is one sentence that follows from them, with what to do about it if something is to be done.
//   - The report has the findings of all.
//
// Invariants:
//
//   - Gathering reads and changes nothing. Findings are computed from facts alone.
//   - What could not be read is a finding, too, and never passes for something that is not there.
//   - No finding has a value of a state or of a Secret in it.
//
// It does not decide what is done: the controllers do, with the same objects before them.
package adopt
