// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// alike are letters that look like Latin ones in most fonts.
var alike = map[rune]string{
	// Cyrillic
	'а': "a", 'в': "b", 'с': "c", 'ԁ': "d", 'е': "e", 'ѐ': "e", 'ё': "e", 'һ': "h", 'і': "i", 'ї': "i", 'ј': "j", 'к': "k", 'ӏ': "l", 'м': "m", 'п': "n",
	'о': "o", 'р': "p", 'ԛ': "q", 'г': "r", 'ѕ': "s", 'т': "t", 'ц': "u", 'ѵ': "v", 'ԝ': "w", 'ш': "w", 'х': "x", 'у': "y", 'ү': "y", 'ғ': "f", 'з': "e", 'б': "b", 'ь': "b",
	// Greek
	'α': "a", 'ά': "a", 'β': "b", 'ϲ': "c", 'ε': "e", 'έ': "e", 'η': "n", 'ι': "i", 'ί': "i", 'ϳ': "j", 'κ': "k", 'ν': "v", 'ο': "o", 'ό': "o", 'ρ': "p", 'σ': "o", 'τ': "t", 'υ': "u", 'ύ': "u", 'χ': "x", 'γ': "y", 'ω': "w", 'ώ': "w",
	// Armenian
	'ո': "n", 'ս': "u", 'օ': "o", 'հ': "h", 'ց': "g", 'ք': "p", 'ա': "w", 'յ': "j", 'ռ': "n", 'զ': "q",
	// Latin, beyond what decomposition yields
	'ı': "i", 'ɡ': "g", 'ɑ': "a", 'ø': "o", 'đ': "d", 'ħ': "h", 'ł': "l", 'ŧ': "t", 'ß': "b", 'þ': "p", 'ŋ': "n", 'ƒ': "f", 'ə': "e", 'æ': "ae", 'œ': "oe",
}

// asciiAlike are ASCII characters and pairs that look like others. "l" stands for all that look like it.
var asciiAlike = strings.NewReplacer("rn", "m", "vv", "w", "cl", "d", "0", "o", "1", "l", "i", "l", "5", "s", "2", "z", "3", "e", "4", "a", "8", "b")

// skeletonOf is what a name looks like. Marks are left out: ä looks like a.
func skeletonOf(seen string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(seen) {
		if unicode.Is(unicode.Mn, r) {
			continue
		}
		if like, ok := alike[r]; ok {
			b.WriteString(like)
			continue
		}
		b.WriteRune(r)
	}
	return asciiAlike.Replace(b.String())
}

// scripts are those that names are written in. Han, Hiragana and Katakana are one: Japanese mixes them.
var scripts = map[string][]*unicode.RangeTable{
	"Latin": {unicode.Latin}, "Cyrillic": {unicode.Cyrillic}, "Greek": {unicode.Greek}, "Armenian": {unicode.Armenian}, "Hebrew": {unicode.Hebrew},
	"Arabic": {unicode.Arabic}, "Devanagari": {unicode.Devanagari}, "Bengali": {unicode.Bengali}, "Tamil": {unicode.Tamil}, "Thai": {unicode.Thai},
	"Georgian": {unicode.Georgian}, "Hangul": {unicode.Hangul}, "CJK": {unicode.Han, unicode.Hiragana, unicode.Katakana},
}

// oneScript refuses names of several scripts, or of one that are all letters that look like Latin ones.
func oneScript(seen string) error {
	found := map[string]bool{}
	latin := true // all letters look like Latin ones
	for _, r := range norm.NFC.String(seen) {
		if r < 0x80 && !unicode.IsLetter(r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r) {
			continue
		}
		script := scriptOf(r)
		if script == "" {
			return fmt.Errorf("has the character %+q, whose script is not supported", r)
		}
		found[script] = true
		if _, ok := alike[r]; !ok {
			latin = false
		}
	}
	switch {
	case len(found) > 1:
		return fmt.Errorf("mixes scripts: %s", strings.Join(slices.Sorted(maps.Keys(found)), ", "))
	case latin && !found["Latin"]:
		return errors.New("looks like a name of Latin letters, and is not one")
	}
	return nil
}

func scriptOf(r rune) string {
	for name, tables := range scripts {
		if unicode.In(r, tables...) {
			return name
		}
	}
	return ""
}
