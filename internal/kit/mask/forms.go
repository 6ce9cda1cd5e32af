// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

const (
	// leastEncoded is how many characters of an encoded form must be certain: six bytes in base64
	// have seven.
	leastEncoded = 7
	// leastHex is the minimum for hex digits, which also occur in identifiers and hashes.
	leastHex = 10
	// maxWrapped limits texts whose base64 is searched line by line.
	maxWrapped = 16 << 10
)

// pattern is one searched form of a secret.
type pattern struct {
	text string
	care care
	// left and right say that an adjacent base64 character contains bits of the secret, too.
	left, right bool
}

// patterns returns the forms of all secrets.
func (s *Secrets) patterns() []pattern {
	var all []pattern
	for text, care := range s.found {
		all = append(all, pattern{text: text, care: care})
		if care == anywhere {
			// The finder ignores case for ASCII letters only; other letters need two forms.
			for _, cased := range []string{strings.ToUpper(text), strings.ToLower(text)} {
				if folded(cased) != folded(text) {
					all = append(all, pattern{text: cased, care: anywhere})
				}
			}
		}
	}
	encoded, inHex := leastEncoded, leastHex
	if s.strict() {
		encoded, inHex = leastEncodedStrictly, 2*shortest
	}
	for text := range s.whole {
		all = append(all, inBase64(text, encoded)...)
		all = append(all, wrapped(text)...)
		if digits := hex.EncodeToString([]byte(text)); len(digits) >= inHex {
			all = append(all, pattern{text: digits, care: anywhere})
		}
	}
	return all
}

// inBase64 returns the certain base64 characters of a text, in all alphabets, alone and after one
// or two bytes (and so any number), as a password follows a user's name.
func inBase64(text string, least int) []pattern {
	var all []pattern
	for shift := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), text...))
		bits := 8 * (shift + len(text))
		certain := encoded[(8*shift+5)/6 : bits/6]
		if len(certain) < least {
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

// wrapped returns the lines of a longer text's base64 as broken by programs such as base64 and
// openssl.
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
