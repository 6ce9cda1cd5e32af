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

	"github.com/yuba-dev/yuba/internal/contracts/paths"
)

// ErrUnknown says that a part of a value is known only after the apply.
var ErrUnknown = errors.New("a part of the value is unknown until the apply")

// Canonical returns the canonical JSON of a value.
func Canonical(v cty.Value) ([]byte, error) { return canonical(v, paths.All()) }

// Part returns the digest of the part of a value that a set of paths covers: that of its projection.
func Part(v cty.Value, part paths.Set) (string, error) {
	text, err := canonical(v, part)
	if err != nil {
		return "", err
	}
	return DigestOf(text), nil
}

func canonical(v cty.Value, part paths.Set) ([]byte, error) {
	w := &writer{}
	w.value(v, part)
	if w.unknown {
		return nil, ErrUnknown
	}
	return w.text, nil
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

// writer writes the projection of a value without making it: a revision with hundreds of consumers
// has as many projections.
type writer struct {
	text    []byte
	unknown bool
}

func (w *writer) add(text ...byte) { w.text = append(w.text, text...) }

func (w *writer) value(v cty.Value, part paths.Set) {
	v, _ = v.Unmark()
	ty := v.Type()
	switch {
	case !v.IsKnown():
		w.unknown = true
	case v.IsNull():
		w.text = append(w.text, "null"...)
	case ty == cty.String:
		w.text = appendString(w.text, v.AsString())
	case ty == cty.Bool:
		w.text = strconv.AppendBool(w.text, v.True())
	case ty == cty.Number:
		f := v.AsBigFloat()
		if f.Sign() == 0 {
			w.add('0') // not -0
			return
		}
		w.text = f.Append(w.text, 'f', -1)
	case ty.IsObjectType(), ty.IsMapType():
		w.members(v, part)
	default:
		w.elements(v, part)
	}
}

func (w *writer) members(v cty.Value, part paths.Set) {
	names := covered(v, part)
	slices.SortFunc(names, compareUnits)
	w.add('{')
	for i, name := range names {
		if i > 0 {
			w.add(',')
		}
		w.text = append(appendString(w.text, name), ':')
		w.value(member(v, name), part.Attribute(name))
	}
	w.add('}')
}

func (w *writer) elements(v cty.Value, part paths.Set) {
	w.add('[')
	separator := false
	i := 0
	for it := v.ElementIterator(); it.Next(); i++ {
		inner := part.Element(i)
		unread := inner.IsEmpty()
		if unread && i > part.MaxIndex() {
			continue
		}
		if separator {
			w.add(',')
		}
		separator = true
		if unread {
			w.text = append(w.text, "null"...)
			continue
		}
		_, element := it.Element()
		w.value(element, inner)
	}
	w.add(']')
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
