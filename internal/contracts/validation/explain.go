// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"errors"
	"strings"
)

// failures are parts of the errors of CEL, with our words for them.
var failures = []struct{ part, words string }{
	{"no such key", "a key that it reads does not exist"},
	{"index out of bounds", "an element that it reads does not exist"},
	{"no such overload", "a value has another type than its functions take"},
	{"no matching overload", "a value has another type than its functions take"},
	{"division by zero", "it divides by zero"},
	{"modulus by zero", "it divides by zero"},
	{"integer overflow", "a number is too large"},
	{"more than 64 MiB", "it creates or compares too much"},
	{"error parsing regexp", "a pattern is not a regular expression"},
}

// explain says why a rule failed. Errors of CEL quote keys and values, which may be private or
// sensitive, so their text is never shown.
func explain(err error) string {
	const what = "the validation cannot be evaluated"
	if errors.Is(err, context.DeadlineExceeded) {
		return what + ": it takes too long"
	}
	text := err.Error()
	// The text of the rule is part of the error, and may contain the same words.
	if _, after, found := strings.Cut(text, "': "); found {
		text = after
	}
	for _, f := range failures {
		if strings.Contains(text, f.part) {
			return what + ": " + f.words
		}
	}
	return what + " with this value"
}
