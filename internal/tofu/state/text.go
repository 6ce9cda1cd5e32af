// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"strings"
	"unicode"
)

// printable drops what a terminal might obey: whoever may write the Lease chose the text.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return -1
	}, text)
}

// shellWord writes a text so that a shell takes it for one word, as people paste the commands we suggest.
func shellWord(text string) string {
	text = printable(text)
	unsafe := func(c rune) bool {
		return !strings.ContainsRune("-_.", c) && (c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c))
	}
	if text != "" && !strings.ContainsFunc(text, unsafe) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
