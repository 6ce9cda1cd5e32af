// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
)

// ErrUnknown says that a part of a value is known only after the apply.
var ErrUnknown = errors.New("a part of the value is unknown until the apply")

// Canonical returns the canonical JSON of a value.
func Canonical(v cty.Value) ([]byte, error) {
	v, _ = v.UnmarkDeep()
	if !v.IsWhollyKnown() {
		return nil, ErrUnknown
	}
	return appendValue(nil, v), nil
}

// Digest returns the digest of a value's canonical JSON.
func Digest(v cty.Value) (string, error) {
	text, err := Canonical(v)
	if err != nil {
		return "", err
	}
	return DigestOf(text), nil
}

// DigestOf returns the digest of canonical JSON.
func DigestOf(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func appendValue(b []byte, v cty.Value) []byte {
	ty := v.Type()
	switch {
	case v.IsNull():
		return append(b, "null"...)
	case ty == cty.String:
		return appendString(b, v.AsString())
	case ty == cty.Bool:
		return strconv.AppendBool(b, v.True())
	case ty == cty.Number:
		f := v.AsBigFloat()
		if f.Sign() == 0 {
			return append(b, '0') // not -0
		}
		return f.Append(b, 'f', -1)
	case ty.IsObjectType(), ty.IsMapType():
		return appendMembers(b, v.AsValueMap())
	}
	b = append(b, '[')
	for i, element := range v.AsValueSlice() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, element)
	}
	return append(b, ']')
}

func appendMembers(b []byte, members map[string]cty.Value) []byte {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.SortFunc(names, compareUnits)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		b = appendValue(b, members[name])
	}
	return append(b, '}')
}

// compareUnits compares UTF-16 code units. That differs from bytes only beyond U+FFFF, whose
// surrogates come before U+E000.
func compareUnits(a, b string) int {
	for a != "" && b != "" {
		r, n := utf8.DecodeRuneInString(a)
		s, m := utf8.DecodeRuneInString(b)
		if r != s {
			return slices.Compare(utf16.Encode([]rune{r}), utf16.Encode([]rune{s}))
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b)
}

const hexDigits = "0123456789abcdef"

var short = map[byte]byte{'"': '"', '\\': '\\', '\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		c := s[i]
		letter, escaped := short[c]
		switch {
		case escaped:
			b = append(b, '\\', letter)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
