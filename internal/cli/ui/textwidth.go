// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"unicode"

	"golang.org/x/text/width"
)

// Length is the width of a text on a terminal.
func Length(text string) int {
	sum := 0
	for _, r := range text {
		sum += runeWidth(r)
	}
	return sum
}

// runeWidth is two for wide characters of East Asia and emoji, zero for combining characters.
// Ambiguous characters count as narrow, as most terminals show them.
func runeWidth(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// CutAt cuts a text to a width. It never splits a character from those that combine with it.
func CutAt(text string, columns int) string {
	for i, r := range text {
		if columns -= runeWidth(r); columns < 0 {
			return text[:i]
		}
	}
	return text
}
