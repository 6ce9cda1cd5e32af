// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package diagnostic

import (
	"slices"
	"strings"
	"unicode"
)

// WithArticle puts "a" or "an" before a noun, as pronounced: an Alert, an HTTPRoute, a UserPool.
// Names that begin with two capitals are spelt.
func WithArticle(noun string) string {
	if soundsOpen(noun) {
		return "an " + noun
	}
	return "a " + noun
}

func soundsOpen(noun string) bool {
	runes := []rune(noun)
	if len(runes) == 0 {
		return false
	}
	if len(runes) > 1 && unicode.IsUpper(runes[0]) && unicode.IsUpper(runes[1]) {
		return strings.ContainsRune("AEFHILMNORSX", runes[0])
	}
	lower := strings.ToLower(noun)
	// These start with the sound of "you" or "one".
	if slices.ContainsFunc([]string{"eu", "one", "uni", "uint", "use", "usa", "uti"}, func(prefix string) bool { return strings.HasPrefix(lower, prefix) }) {
		return false
	}
	return strings.ContainsRune("aeiou", []rune(lower)[0])
}
