// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"unicode"

	"golang.org/x/text/width"
)

// Length is how many columns of a terminal a text takes.
func Length(text string) int {
	sum := 0
	for _, r := range text {
		sum += runeWidth(r)
	}
	return sum
}

// runeWidth is two for the wide characters of East Asia and for emoji, and zero for those that combine with the one before.
// Characters that are wide in some fonts only (ambiguous ones) count as narrow, as most terminals show them.
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

// CutAt cuts a text to so many columns of a terminal. A character is never halved, and keeps what combines with it.
func CutAt(text string, columns int) string {
	for i, r := range text {
		if columns -= runeWidth(r); columns < 0 {
			return text[:i]
		}
	}
	return text
}
