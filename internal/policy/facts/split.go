// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
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
	found := map[string]json.RawMessage{}
	err := s.object(func(name []byte) error {
		value := s.value()
		if value == nil {
			return errBroken
		}
		if _, twice := found[string(name)]; twice {
			return fmt.Errorf("the field %q is there twice", name)
		}
		found[string(name)] = value
		return nil
	})
	if s.blank(); err == nil && s.at != len(text) {
		err = errBroken
	}
	return found, err
}

// elements calls do for each element of a JSON array; do reads it with the scanner.
func elements(text []byte, do func(s *scanner) error) error {
	s := scanner{text: text}
	if s.blank(); len(text) == 0 || string(text[s.at:]) == "null" {
		return nil
	}
	if err := s.list(func() error { return do(&s) }); err != nil {
		return err
	}
	if s.blank(); s.at != len(text) {
		return errBroken
	}
	return nil
}

// object reads an object; do reads the value of each field.
func (s *scanner) object(do func(name []byte) error) error {
	if !s.take('{') {
		return errBroken
	}
	for first := true; !s.take('}'); first = false {
		if !first && !s.take(',') {
			return errBroken
		}
		s.blank()
		key := s.value()
		if len(key) < 2 || key[0] != '"' || !s.take(':') {
			return errBroken
		}
		name := key[1 : len(key)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			var decoded string
			if json.Unmarshal(key, &decoded) != nil {
				return errBroken
			}
			name = []byte(decoded)
		}
		if err := do(name); err != nil {
			return err
		}
	}
	return nil
}

// list reads a list; do reads each element.
func (s *scanner) list(do func() error) error {
	if !s.take('[') {
		return errBroken
	}
	for first := true; !s.take(']'); first = false {
		if !first && !s.take(',') {
			return errBroken
		}
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// null skips a null, if it is the next value.
func (s *scanner) null() bool {
	if s.blank(); !bytes.HasPrefix(s.text[s.at:], []byte("null")) {
		return false
	}
	s.at += len("null")
	return true
}

// raw keeps the next value as a part of the text.
func (s *scanner) raw(value *json.RawMessage) error {
	if *value = s.value(); *value == nil {
		return errBroken
	}
	return nil
}

// skip skips the next value.
func (s *scanner) skip() error {
	if s.value() == nil {
		return errBroken
	}
	return nil
}

// into decodes the next value. Strings, which most are, take a shorter way; a null changes nothing.
func (s *scanner) into(value any) error {
	if s.null() {
		return nil
	}
	raw := s.value()
	if raw == nil {
		return errBroken
	}
	if text, ok := value.(*string); ok && len(raw) >= 2 && raw[0] == '"' && plain(string(raw[1:len(raw)-1])) {
		*text = string(raw[1 : len(raw)-1])
		return nil
	}
	if json.Unmarshal(raw, value) != nil {
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
	for s.at++; ; s.at++ {
		next := bytes.IndexByte(s.text[min(s.at, len(s.text)):], '"')
		if next < 0 {
			s.at = len(s.text)
			return false
		}
		text := s.text[s.at : s.at+next]
		s.at += next
		// A quote ends the text after an even number of backslashes.
		end := len(text)
		for end > 0 && text[end-1] == '\\' {
			end--
		}
		if (len(text)-end)%2 == 0 {
			s.at++
			return true
		}
	}
}
