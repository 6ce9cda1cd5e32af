// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"encoding/json"
	"errors"
	"fmt"
)

// errBroken is the error of a text that is not JSON, or ends early.
var errBroken = errors.New("it is not JSON, or it is incomplete")

// fields returns the values of a JSON object's fields, as parts of the text. What nobody decodes is
// checked for balance only, which is ten times faster than decoding it.
func fields(text []byte) (map[string]json.RawMessage, error) {
	s := scanner{text: text}
	if !s.take('{') {
		return nil, errBroken
	}
	found := map[string]json.RawMessage{}
	for !s.take('}') {
		if len(found) > 0 && !s.take(',') {
			return nil, errBroken
		}
		var name string
		if key := s.value(); key == nil || json.Unmarshal(key, &name) != nil || !s.take(':') {
			return nil, errBroken
		}
		value := s.value()
		if value == nil {
			return nil, errBroken
		}
		if _, twice := found[name]; twice {
			return nil, fmt.Errorf("the field %q is there twice", name)
		}
		found[name] = value
	}
	if s.blank(); s.at != len(text) {
		return nil, errBroken
	}
	return found, nil
}

// elements calls do for each element of a JSON array.
func elements(text []byte, do func(element []byte) error) error {
	s := scanner{text: text}
	if s.blank(); len(text) == 0 || string(text[s.at:]) == "null" {
		return nil
	}
	if !s.take('[') {
		return errBroken
	}
	for first := true; !s.take(']'); first = false {
		if !first && !s.take(',') {
			return errBroken
		}
		element := s.value()
		if element == nil {
			return errBroken
		}
		if err := do(element); err != nil {
			return err
		}
	}
	if s.blank(); s.at != len(text) {
		return errBroken
	}
	return nil
}

// scanner finds the ends of values.
type scanner struct {
	text []byte
	at   int
}

func (s *scanner) blank() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\n' || s.text[s.at] == '\t' || s.text[s.at] == '\r') {
		s.at++
	}
}

// take skips one character after blanks, if it is the next.
func (s *scanner) take(c byte) bool {
	s.blank()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// value returns the next value; nil if there is none, or no end of it.
func (s *scanner) value() []byte {
	s.blank()
	begin, depth := s.at, 0
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case '"':
			if !s.skipText() {
				return nil
			}
			if depth == 0 {
				return s.text[begin:s.at]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return s.scalar(begin)
			}
			if depth--; depth == 0 {
				s.at++
				return s.text[begin:s.at]
			}
		case ',', ' ', '\n', '\t', '\r', ':':
			if depth == 0 {
				return s.scalar(begin)
			}
		}
		s.at++
	}
	return nil // an object never ends with the text
}

func (s *scanner) scalar(begin int) []byte {
	if begin == s.at {
		return nil
	}
	return s.text[begin:s.at]
}

// skipText skips a string.
func (s *scanner) skipText() bool {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return true
		}
	}
	return false
}
