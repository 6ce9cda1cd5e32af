// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"bytes"
	"sort"
)

// view is a text: the line itself, or what another view decodes to.
type view struct {
	text []byte
	// source is the view that it was decoded from; nil for the line.
	source *view
	// parts map the text to the source, ordered by position.
	parts []part
	depth int
}

// part is a piece of a decoded text.
type part struct {
	// begin is its position in the text, from in the source.
	begin, from int32
	// kind is the relation of both.
	kind partKind
	// length is an escape's length in the source.
	length uint8
}

type partKind uint8

const (
	// copied: identical bytes.
	copied partKind = iota
	// escape: all of it comes from a few bytes of the source.
	escape
	// encoded: three bytes are four characters of base64 in the source.
	encoded
)

// origin returns the position in the line of a non-empty span of the text.
func (v *view) origin(s span) span {
	if v.source == nil {
		return s
	}
	begin, _ := v.place(s.begin)
	_, end := v.place(s.end - 1)
	return v.source.origin(span{begin, end})
}

// place returns the position in the source of a byte of the text.
func (v *view) place(i int) (begin, end int) {
	p := v.parts[sort.Search(len(v.parts), func(n int) bool { return int(v.parts[n].begin) > i })-1]
	behind, from := i-int(p.begin), int(p.from)
	switch p.kind {
	case escape:
		return from, from + int(p.length)
	case encoded:
		first := from + behind/3*4 + behind%3
		return first, first + 2
	}
	return from + behind, from + behind + 1
}

// copy adds an unchanged part of the source.
func (v *view) copy(at span) {
	if at.begin == at.end {
		return
	}
	v.begin(copied, at.begin, 0)
	v.text = append(v.text, v.source.text[at.begin:at.end]...)
}

// begin records the source of the next bytes.
func (v *view) begin(kind partKind, from, length int) {
	v.parts = append(v.parts, part{begin: int32(len(v.text)), from: int32(from), kind: kind, length: uint8(length)}) //nolint:gosec // pieces and escapes are short
}

// decodeFrom returns an empty view to decode into.
func decodeFrom(source *view) *view { return &view{source: source, depth: source.depth + 1} }

// unescaped decodes everything that begins with a mark. unescape returns the decoded bytes and the
// escape's length; zero if it is only that character. It returns nil if nothing is escaped.
func unescaped(source *view, mark byte, unescape func(rest []byte) (decoded []byte, length int)) *view {
	var v *view
	done := 0
	for i := 0; ; {
		next := bytes.IndexByte(source.text[i:], mark)
		if next < 0 {
			break
		}
		i += next
		decoded, length := unescape(source.text[i:])
		if length == 0 {
			i++
			continue
		}
		if v == nil {
			v = decodeFrom(source)
			v.text = make([]byte, 0, len(source.text))
		}
		v.copy(span{done, i})
		v.begin(escape, i, length)
		v.text = append(v.text, decoded...)
		i += length
		done = i
	}
	if v != nil {
		v.copy(span{done, len(source.text)})
	}
	return v
}
