// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package shell writes command lines that people copy into a shell. Names in them can be those that
// somebody else has chosen: of a lock, of a branch, in the address of a page.
package shell

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote writes a word so that a POSIX shell takes it for one word, and for nothing else. Words that
// need no quotes stay as they are.
func Quote(word string) string {
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func plain(r rune) bool {
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("/._-+=:@%,", r)
}

// Line writes a command line of words.
func Line(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Quote(word)
	}
	return strings.Join(quoted, " ")
}
