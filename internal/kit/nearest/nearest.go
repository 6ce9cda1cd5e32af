// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package nearest finds the word that was probably meant.
package nearest

import "github.com/agext/levenshtein"

// longest is the length from which words are not compared: that costs the product of their lengths, and
// they are foreign text.
const longest = 64

// Word is the first known word that differs least from a word, by at most so many letters that are
// inserted, removed or replaced; empty for none.
func Word(word string, known []string, most int) (best string) {
	if len(word) > longest {
		return ""
	}
	for _, other := range known {
		if len(other) > longest {
			continue
		}
		if distance := levenshtein.Distance(word, other, nil); distance <= most {
			best, most = other, distance-1
		}
	}
	return best
}
