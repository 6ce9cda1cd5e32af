// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"strings"
	"unicode"
)

// printable drops control characters: the text comes from anyone who may write the Lease.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return -1
	}, text)
}

// shellWord quotes a text for the shell, because users paste the suggested commands.
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
