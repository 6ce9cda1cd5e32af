// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

const (
	// leastEncoded is how many characters of an encoded form must be certain: six bytes in base64 have seven.
	leastEncoded = 7
	// leastHex is for hex digits, which are in identifiers and hashes as well.
	leastHex = 10
	// maxWrapped is for texts whose base64 is looked for line by line.
	maxWrapped = 16 << 10
)

// pattern is one form of a secret, as it is looked for.
type pattern struct {
	text string
	care care
	// left and right tell that a character of base64 beside the text has bits of the secret, too.
	left, right bool
}

// patterns are the forms of all secrets.
func (s *Secrets) patterns() []pattern {
	var all []pattern
	for text, care := range s.found {
		all = append(all, pattern{text: text, care: care})
		if care == anywhere {
			// The finder knows no case of ASCII letters; other letters have two forms.
			for _, cased := range []string{strings.ToUpper(text), strings.ToLower(text)} {
				if folded(cased) != folded(text) {
					all = append(all, pattern{text: cased, care: anywhere})
				}
			}
		}
	}
	for text := range s.whole {
		all = append(all, inBase64(text)...)
		all = append(all, wrapped(text)...)
		if digits := hex.EncodeToString([]byte(text)); len(digits) >= leastHex {
			all = append(all, pattern{text: digits, care: anywhere})
		}
	}
	return all
}

// inBase64 are the characters of base64 that a text gives for certain: at the beginning of what is encoded, and one or two bytes
// (and so any number) behind it, as a password is behind a user's name. In all alphabets; padding is no matter.
func inBase64(text string) []pattern {
	var all []pattern
	for shift := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), text...))
		bits := 8 * (shift + len(text))
		certain := encoded[(8*shift+5)/6 : bits/6]
		if len(certain) < leastEncoded {
			continue
		}
		p := pattern{text: certain, care: anywhere, left: shift > 0, right: bits%6 != 0}
		all = append(all, p)
		if forURLs := strings.NewReplacer("+", "-", "/", "_").Replace(certain); forURLs != certain {
			p.text = forURLs
			all = append(all, p)
		}
	}
	return all
}

// wrapped are the lines that programs such as base64 and openssl break a longer text into.
func wrapped(text string) []pattern {
	if len(text) > maxWrapped {
		return nil
	}
	var all []pattern
	whole := base64.StdEncoding.EncodeToString([]byte(text))
	for _, width := range []int{76, 64} {
		if len(whole) <= width {
			continue
		}
		for line := whole; len(line) >= shortestLine; line = line[min(width, len(line)):] {
			all = append(all, pattern{text: line[:min(width, len(line))], care: anywhere})
		}
	}
	return all
}
