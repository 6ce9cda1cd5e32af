// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// parser decodes JSON to the types of encoding/json with UseNumber, in a third of the time: names of
// attributes repeat, and are kept.
type parser struct {
	scanner
	names map[string]string
	depth int
	// sizes are those of the last objects at the first depths: the next ones are as large.
	sizes [4]int
}

// maxNesting is the limit of encoding/json.
const maxNesting = 10_000

// maxHint limits the memory of an object before it is read.
const maxHint = 100

// maxNames limits the names that are kept, of at most maxName bytes.
const (
	maxNames = 10_000
	maxName  = 64
)

// decode decodes a value. The result shares no memory with the text.
func (p *parser) decode(text []byte) (any, error) {
	if len(text) == 0 {
		return nil, nil
	}
	p.text, p.at, p.depth = text, 0, 0
	value, ok := p.parse()
	if p.blank(); !ok || p.at != len(text) {
		return nil, errBroken
	}
	return value, nil
}

func (p *parser) parse() (value any, ok bool) {
	p.blank()
	if p.at >= len(p.text) || p.depth > maxNesting {
		return nil, false
	}
	switch c := p.text[p.at]; c {
	case '{':
		return p.object()
	case '[':
		return p.list()
	case '"':
		return p.string()
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	}
	begin := p.at
	for p.at < len(p.text) && bytes.IndexByte([]byte("+-.0123456789eE"), p.text[p.at]) >= 0 {
		p.at++
	}
	number := p.text[begin:p.at]
	return json.Number(number), len(number) > 0 && json.Valid(number)
}

func (p *parser) word(word string) bool {
	if !bytes.HasPrefix(p.text[p.at:], []byte(word)) {
		return false
	}
	p.at += len(word)
	return true
}

// raw returns what is between quotes, and whether it is plain: ASCII without escapes.
func (p *parser) raw() (text []byte, plain, ok bool) {
	begin := p.at
	if p.at >= len(p.text) || p.text[p.at] != '"' || !p.skipText() {
		return nil, false, false
	}
	text, plain = p.text[begin+1:p.at-1], true
	for _, c := range text {
		if c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			return p.text[begin:p.at], false, true
		}
	}
	return text, plain, true
}

func (p *parser) string() (string, bool) {
	text, plain, ok := p.raw()
	if !ok || plain {
		return string(text), ok
	}
	var decoded string
	err := json.Unmarshal(text, &decoded)
	return decoded, err == nil
}

// name is string for the name of an attribute.
func (p *parser) name() (string, bool) {
	at := p.at
	text, plain, ok := p.raw()
	if !ok || !plain || len(text) > maxName {
		p.at = at
		return p.string()
	}
	if known, there := p.names[string(text)]; there {
		return known, true
	}
	name := string(text)
	if p.names == nil {
		p.names = map[string]string{}
	}
	if len(p.names) < maxNames {
		p.names[name] = name
	}
	return name, true
}

func (p *parser) object() (any, bool) {
	p.at++
	p.depth++
	level := min(p.depth, len(p.sizes)) - 1
	object := make(map[string]any, min(p.sizes[level], maxHint))
	for first := true; !p.take('}'); first = false {
		if !first && !p.take(',') {
			return nil, false
		}
		p.blank()
		name, ok := p.name()
		if !ok || !p.take(':') {
			return nil, false
		}
		value, ok := p.parse()
		if !ok {
			return nil, false
		}
		object[name] = value
	}
	p.sizes[level] = len(object)
	p.depth--
	return object, true
}

func (p *parser) list() (any, bool) {
	p.at++
	p.depth++
	list := []any{}
	for first := true; !p.take(']'); first = false {
		if !first && !p.take(',') {
			return nil, false
		}
		value, ok := p.parse()
		if !ok {
			return nil, false
		}
		list = append(list, value)
	}
	p.depth--
	return list, true
}
