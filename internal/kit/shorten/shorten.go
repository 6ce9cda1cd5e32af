// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shorten

import (
	"fmt"
	"strings"
)

// Line folds white space, line breaks included, into single spaces.
func Line(text string) string { return strings.Join(strings.Fields(text), " ") }

// Cut keeps the first characters of a text.
func Cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// CutBytes keeps the first bytes of a text, without splitting a character.
func CutBytes(text string, most int) string {
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// Fit cuts a text to a number of bytes, including the mark, without splitting a character.
func Fit(text string, most int) string {
	if len(text) > most {
		return CutBytes(text, most-len("…"))
	}
	return text
}

// digits is how much of a digest people need to tell revisions apart.
const digits = 10

// Revision shortens the digest of a revision such as main@sha1:1a2b3c4d…. Commands and pages show the
// same, so that people find one in the other.
func Revision(revision string) string {
	before, digest, ok := strings.Cut(revision, ":")
	if ok && len(digest) > digits {
		return before + ":" + digest[:digits]
	}
	return revision
}

// Names lists the first names, and the number of others.
func Names(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
