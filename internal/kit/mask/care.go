// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// care says in which context a secret is masked.
type care int

const (
	// ignored: too short, or a boolean. It is never masked.
	ignored care = iota
	// asValue: a common word. It is masked only where it is a value: after = or :, alone, or an
	// item of a list.
	asValue
	// asWord: short. It is masked unless it is part of a longer word.
	asWord
	// anywhere: long and unusual. It is masked everywhere, in upper and lower case and in all
	// forms.
	anywhere
)

const (
	// shortest is the minimum length of a secret that is masked.
	shortest = 3
	// leastDigits is the minimum for numbers: shorter ones are ports, sizes and counts.
	leastDigits = 6
	// manyDigits make a number unusual enough to be masked inside of words.
	manyDigits = 10
	// enoughBits is the entropy, roughly, of a text that does not occur by chance: seven letters,
	// or six letters and digits.
	enoughBits = 30
)

// careFor decides in which context to mask a secret. public are lower-case names of the run that
// are not secret.
func careFor(secret string, public map[string]bool) care {
	lower := strings.ToLower(secret)
	switch {
	case len(secret) < shortest, truths[lower], strings.IndexFunc(secret, isWordRune) < 0:
		return ignored
	case strings.HasPrefix(secret, "-----BEGIN "), strings.HasPrefix(secret, "-----END "):
		return ignored // the header or footer of a key
	case number.MatchString(secret):
		return careForNumber(secret)
	case public[lower], isCommon(lower):
		return asValue
	case bits(secret) < enoughBits:
		return asWord
	}
	return anywhere
}

func careForNumber(secret string) care {
	digits := 0
	for _, c := range secret {
		if unicode.IsDigit(c) {
			digits++
		}
	}
	switch {
	case digits < leastDigits:
		return ignored
	case digits < manyDigits:
		return asWord
	}
	return anywhere
}

// number matches numbers, versions and IPv4 addresses.
var number = regexp.MustCompile(`^[-+v]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?$`)

// region matches names of cloud regions and zones: eu-west-1, us-gov-east-1a, europe-west4-b,
// fr-par-1.
var region = regexp.MustCompile(`^(?:(?:us|eu|ap|ca|sa|af|me|il|mx|cn|ru|uk|europe|asia|australia|northamerica|southamerica|africa)(?:-gov|-iso[bef]?)?` +
	`-(?:north|south|east|west|central|northeast|northwest|southeast|southwest)-?\d{1,2}|(?:fr-par|nl-ams|pl-waw)-?\d?)-?[a-z]?$`)

// isCommon reports whether a text is a word of any configuration, or a combination of such words:
// "postgres", "app-db-1".
func isCommon(lower string) bool {
	if words[lower] || region.MatchString(lower) {
		return true
	}
	parts := strings.FieldsFunc(lower, func(c rune) bool { return c == '-' || c == '_' || c == '.' || c == '/' || c == ' ' })
	if len(parts) < 2 || len(parts) > 4 {
		return false
	}
	return !slices.ContainsFunc(parts, func(part string) bool {
		small := len(part) <= 2 && strings.Trim(part, "0123456789") == ""
		return !small && !words[part]
	})
}

// bits estimates the entropy of a text from its length and kinds of characters. Repeated characters
// count twice at most.
func bits(text string) float64 {
	var lower, upper, digit, other, length int
	distinct := map[rune]bool{}
	for _, c := range text {
		distinct[c] = true
		length++
		switch {
		case c >= 'a' && c <= 'z':
			lower = 26
		case c >= 'A' && c <= 'Z':
			upper = 26
		case c >= '0' && c <= '9':
			digit = 10
		default:
			other = 33
		}
	}
	return float64(min(length, 2*len(distinct))) * math.Log2(float64(lower+upper+digit+other))
}

func isWordRune(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }
