// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"math"
	"regexp"
	"strings"
	"unicode"
)

// care says where a secret is looked for.
type care int

const (
	// ignored: too short to tell anything, or a truth. It is not looked for.
	ignored care = iota
	// asValue: a common word. It is hidden where it is a value: behind = or :, alone, or an item of a list.
	asValue
	// asWord: short. It is hidden where it is not part of a longer word.
	asWord
	// anywhere: long and unusual. It is hidden wherever it is, in upper and lower case and in all forms.
	anywhere
)

const (
	// shortest is how long a secret must be to be looked for at all.
	shortest = 3
	// leastDigits is for numbers: shorter ones are ports, sizes and counts.
	leastDigits = 6
	// manyDigits of a number are unusual enough to be looked for inside of words.
	manyDigits = 10
	// enoughBits is what a text must have, roughly, to be in a log by no chance: seven letters, or six letters and digits.
	enoughBits = 30
)

// careFor says where to look for a secret. public are texts of the run that are no secrets: its names, in lower case.
func careFor(secret string, public map[string]bool) care {
	lower := strings.ToLower(secret)
	switch {
	case len(secret) < shortest, truths[lower], strings.IndexFunc(secret, isWordRune) < 0:
		return ignored
	case strings.HasPrefix(secret, "-----BEGIN "), strings.HasPrefix(secret, "-----END "):
		return ignored // the frame around a key
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

// number matches numbers, versions and addresses of IPv4.
var number = regexp.MustCompile(`^[-+v]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?$`)

// region matches the names of regions and zones of clouds: eu-west-1, us-gov-east-1a, europe-west4-b, fr-par-1.
var region = regexp.MustCompile(`^(?:(?:us|eu|ap|ca|sa|af|me|il|mx|cn|ru|uk|europe|asia|australia|northamerica|southamerica|africa)(?:-gov|-iso[bef]?)?` +
	`-(?:north|south|east|west|central|northeast|northwest|southeast|southwest)-?\d{1,2}|(?:fr-par|nl-ams|pl-waw)-?\d?)-?[a-z]?$`)

// isCommon tells whether a text is a word that every configuration has, or is made of a few of them: "postgres", "app-db-1".
func isCommon(lower string) bool {
	if words[lower] || region.MatchString(lower) {
		return true
	}
	parts := strings.FieldsFunc(lower, func(c rune) bool { return c == '-' || c == '_' || c == '.' || c == '/' || c == ' ' })
	if len(parts) < 2 || len(parts) > 4 {
		return false
	}
	for _, part := range parts {
		if small := len(part) <= 2 && strings.Trim(part, "0123456789") == ""; !small && !words[part] {
			return false
		}
	}
	return true
}

// bits is how much there is to guess in a text, roughly: its length by the kinds of characters that it has. Characters that
// repeat count twice at most.
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
