// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"
)

// maxShared limits the strings that are kept once: longer ones are rarely equal.
const maxShared = 64

// string reads a string. Equal ones mostly share a term, so that comparing them reads no memory.
func (r *reader) string() (*ast.Term, bool) {
	begin, plain, hash := r.at+1, true, uint32(2166136261)
	for i := begin; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '"':
			r.at = i + 1
			return r.shared(r.text[begin:i], plain, hash)
		case c < ' ':
			return nil, false
		case c == '\\':
			plain = false
			i++
		case c >= utf8.RuneSelf:
			plain = false
		default:
			hash = (hash ^ uint32(c)) * 16777619 // FNV-1a
		}
	}
	return nil, false
}

func (r *reader) shared(text string, plain bool, hash uint32) (*ast.Term, bool) {
	if !plain {
		// It has escapes, or bytes that may not be UTF-8.
		var decoded string
		if json.Unmarshal([]byte(`"`+text+`"`), &decoded) != nil {
			return nil, false
		}
		return r.term(ast.String(decoded)), true
	}
	if len(text) > maxShared {
		return r.term(ast.String(text)), true
	}
	known := &r.known[(hash^hash>>16)%uint32(len(r.known))]
	if *known == nil || (*known).Value.(ast.String) != ast.String(text) {
		*known = r.term(ast.String(text))
	}
	return *known, true
}

// number reads a number.
func (r *reader) number() (*ast.Term, bool) {
	begin := r.at
	digits := func() bool {
		from := r.at
		for r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' {
			r.at++
		}
		return r.at > from
	}
	has := func(any string) bool {
		for i := range len(any) {
			if r.at < len(r.text) && r.text[r.at] == any[i] {
				r.at++
				return true
			}
		}
		return false
	}
	has("-")
	if !has("0") && !digits() || has(".") && !digits() {
		return nil, false
	}
	if has("eE") {
		has("+-")
		if !digits() {
			return nil, false
		}
	}
	text := r.text[begin:r.at]
	if known := ast.InternedIntNumberTermFromString(text); known != nil {
		return known, true
	}
	number, err := ast.NumberChecked(text)
	if err != nil {
		return nil, false
	}
	return r.term(number), true
}
