// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"bytes"
	"cmp"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decoder decodes one notation of text. It returns nil if the text has nothing in that notation.
type decoder func(v *view) *view

// decodersFor returns the decoders that may reveal a secret: the last ones handle characters that
// few secrets contain. Shorter text than leastBlob is not decoded as base64.
func decodersFor(secrets []pattern, leastBlob int) []decoder {
	has := func(part string) bool {
		return slices.ContainsFunc(secrets, func(p pattern) bool { return strings.Contains(p.text, part) })
	}
	list := []decoder{backslashes, percent, entities, func(v *view) *view { return blobs(v, leastBlob) }}
	if has(" ") {
		list = append(list, plus)
	}
	if has("'") {
		list = append(list, shellQuotes)
	}
	if has("${") || has("%{") {
		list = append(list, hclMarks)
	}
	return list
}

// backslashes decodes the escapes of JSON, HCL, Go, C and the shell.
func backslashes(v *view) *view { return unescaped(v, '\\', backslash) }

// escapes are the one-letter escapes.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f', 'a': '\a', 'v': '\v', 'e': 0x1b}

func backslash(rest []byte) ([]byte, int) {
	if len(rest) < 2 {
		return nil, 0
	}
	c := rest[1]
	switch {
	case c == 'u':
		return escapedRune(rest)
	case c == 'U':
		return fixed(rest, 2, 8)
	case c == 'x':
		if n, ok := digits(rest, 2, 2, 16); ok {
			return []byte{byte(n)}, 4
		}
		return nil, 0
	case c >= '0' && c <= '3':
		if n, ok := digits(rest, 1, 3, 8); ok {
			return []byte{byte(n)}, 4
		}
		return nil, 0
	case escapes[c] != 0:
		return []byte{escapes[c]}, 2
	case c >= utf8.RuneSelf || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
		return nil, 0
	}
	return []byte{c}, 2
}

// escapedRune decodes \uXXXX, and surrogate pairs.
func escapedRune(rest []byte) ([]byte, int) {
	n, ok := digits(rest, 2, 4, 16)
	if !ok {
		return nil, 0
	}
	if utf16.IsSurrogate(rune(n)) && len(rest) >= 12 && rest[6] == '\\' && rest[7] == 'u' {
		if low, ok := digits(rest, 8, 4, 16); ok {
			if r := utf16.DecodeRune(rune(n), rune(low)); r != utf8.RuneError {
				return utf8.AppendRune(nil, r), 12
			}
		}
	}
	return utf8.AppendRune(nil, rune(n)), 6
}

func fixed(rest []byte, from, length int) ([]byte, int) {
	n, ok := digits(rest, from, length, 16)
	if !ok || n > utf8.MaxRune {
		return nil, 0
	}
	return utf8.AppendRune(nil, rune(n)), from + length
}

func digits(text []byte, from, length, base int) (uint64, bool) {
	if len(text) < from+length {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[from:from+length]), base, 32)
	return n, err == nil
}

// percent decodes URL encoding.
func percent(v *view) *view {
	return unescaped(v, '%', func(rest []byte) ([]byte, int) {
		if n, ok := digits(rest, 1, 2, 16); ok {
			return []byte{byte(n)}, 3
		}
		return nil, 0
	})
}

// plus decodes + as a space, as in forms.
func plus(v *view) *view {
	return unescaped(v, '+', func([]byte) ([]byte, int) { return []byte{' '}, 1 })
}

// longestEntity exceeds the names of all usual HTML entities.
const longestEntity = 12

// entities decodes the escapes of HTML and XML.
func entities(v *view) *view {
	return unescaped(v, '&', func(rest []byte) ([]byte, int) {
		end := bytes.IndexByte(rest[:min(len(rest), longestEntity)], ';')
		if end < 0 {
			return nil, 0
		}
		name := string(rest[:end+1])
		decoded := html.UnescapeString(name)
		if decoded == name {
			return nil, 0
		}
		return []byte(decoded), end + 1
	})
}

// shellQuotes decodes quotes inside of quotes.
func shellQuotes(v *view) *view {
	return unescaped(v, '\'', func(rest []byte) ([]byte, int) {
		for _, written := range []string{`'\''`, `'"'"'`} {
			if bytes.HasPrefix(rest, []byte(written)) {
				return []byte{'\''}, len(written)
			}
		}
		return nil, 0
	})
}

// hclMarks decodes $${ and %%{.
func hclMarks(v *view) *view {
	undo := func(mark byte) decoder {
		return func(v *view) *view {
			return unescaped(v, mark, func(rest []byte) ([]byte, int) {
				if len(rest) > 2 && rest[1] == mark && rest[2] == '{' {
					return []byte{mark}, 2
				}
				return nil, 0
			})
		}
	}
	dollars := undo('$')(v)
	if both := undo('%')(cmp.Or(dollars, v)); both != nil {
		return both
	}
	return dollars
}

// leastBlob is the minimum length of a base64 text, to distinguish it from a word.
const leastBlob = 16

// blobs decodes text in base64, such as docker's configuration. The result can contain further
// encodings.
func blobs(source *view, leastBlob int) *view {
	v := decodeFrom(source)
	for i := 0; i < len(source.text); {
		begin := i
		for i < len(source.text) && base64Values[source.text[i]] >= 0 {
			i++
		}
		if i-begin >= leastBlob {
			v.decode(span{begin, i})
		}
		i++
	}
	if len(v.text) == 0 {
		return nil
	}
	return v
}

// decode adds the decoded base64 of a part of the source, if that is text.
func (v *view) decode(at span) {
	known, parts := len(v.text), len(v.parts)
	v.begin(encoded, at.begin, 0)
	var group, count int
	for _, c := range v.source.text[at.begin:at.end] {
		group, count = group<<6|int(base64Values[c]), (count+1)%4
		if count == 1 {
			continue
		}
		// The second to fourth character complete a byte each.
		b := byte(group >> (2 * ((4 - count) % 4))) //nolint:gosec // the lowest eight bits are meant
		if b < ' ' && b != '\n' && b != '\t' && b != '\r' || b == 0x7f {
			v.text, v.parts = v.text[:known], v.parts[:parts]
			return
		}
		v.text = append(v.text, b)
	}
	if !utf8.Valid(v.text[known:]) {
		v.text, v.parts = v.text[:known], v.parts[:parts]
		return
	}
	v.begin(escape, at.end-1, 1) // two decoded parts are not one text
	v.text = append(v.text, '\n')
}

// base64Values are the values of the characters in both alphabets; negative for all others.
var base64Values = func() (values [256]int8) {
	for i := range values {
		values[i] = -1
	}
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range letters {
		values[letters[i]] = int8(i) //nolint:gosec // 64 of them
	}
	values['-'], values['_'] = 62, 63
	return values
}()
