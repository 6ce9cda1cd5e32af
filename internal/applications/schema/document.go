// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/applications/finding"
)

// Limits of the text. Cozystack's largest schema has 30 KiB and 400 nodes.
const (
	maxText  = 256 << 10
	maxDepth = 64
	maxNodes = 5000
	// maxNesting limits the levels of fields of a schema: each takes several levels of JSON.
	maxNesting = 24
)

// object is a JSON object with its keys in the order of the text.
type object struct {
	keys []string
	of   map[string]any
}

func (o *object) has(key string) bool { _, is := o.of[key]; return is }

// without returns a copy without a key.
func (o *object) without(keys ...string) *object {
	less := &object{of: map[string]any{}}
	for _, key := range o.keys {
		if !slices.Contains(keys, key) {
			less.set(key, o.of[key])
		}
	}
	return less
}

func (o *object) set(key string, value any) {
	if !o.has(key) {
		o.keys = append(o.keys, key)
	}
	o.of[key] = value
}

// MarshalJSON implements json.Marshaler.
func (o *object) MarshalJSON() ([]byte, error) { return json.Marshal(o.of) }

// problem is an error with its place.
type problem struct{ at, what, advice string }

func (p *problem) Error() string { return p.what }

// read parses a JSON document. Objects are *object, arrays []any, numbers json.Number.
func read(text string) (any, *problem) {
	if len(text) > maxText {
		return nil, &problem{what: fmt.Sprintf("the schema has %d KiB, and %d KiB are allowed", len(text)>>10, maxText>>10),
			advice: "shorten its descriptions, or allow any content in a part of it with x-kubernetes-preserve-unknown-fields: true"}
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	r := &reader{decoder: d, text: text}
	value, wrong := r.value("", 0)
	if wrong != nil {
		return nil, wrong
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &problem{what: "text follows the JSON document" + r.where(), advice: "remove it"}
	}
	return value, nil
}

type reader struct {
	decoder *json.Decoder
	text    string
}

// where returns the position of the decoder.
func (r *reader) where() string {
	offset := min(int(r.decoder.InputOffset()), len(r.text))
	before := r.text[:offset]
	return fmt.Sprintf(" (line %d, column %d)", strings.Count(before, "\n")+1, offset-strings.LastIndex(before, "\n"))
}

func (r *reader) token(at string) (json.Token, *problem) {
	token, err := r.decoder.Token()
	if err != nil {
		reason := err.Error()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			reason = "the text ends too early"
		}
		return nil, &problem{at: at, what: "it is not valid JSON: " + reason + r.where(), advice: "write the schema as one JSON document"}
	}
	return token, nil
}

func (r *reader) value(at string, depth int) (any, *problem) {
	if depth > maxDepth {
		return nil, &problem{at: at, what: fmt.Sprintf("it has more than %d levels", maxDepth), advice: "nest less deeply"}
	}
	token, wrong := r.token(at)
	if wrong != nil {
		return nil, wrong
	}
	delim, is := token.(json.Delim)
	switch {
	case !is:
		return token, nil
	case delim == '[':
		list := []any{}
		for r.decoder.More() {
			item, wrong := r.value(finding.Index(at, len(list)), depth+1)
			if wrong != nil {
				return nil, wrong
			}
			list = append(list, item)
		}
		_, wrong = r.token(at)
		return list, wrong
	}
	return r.object(at, depth)
}

func (r *reader) object(at string, depth int) (any, *problem) {
	o := &object{of: map[string]any{}}
	for r.decoder.More() {
		token, wrong := r.token(at)
		if wrong != nil {
			return nil, wrong
		}
		key, is := token.(string)
		if !is {
			return nil, &problem{at: at, what: "a key is not a string" + r.where()}
		}
		if o.has(key) {
			return nil, &problem{at: finding.Child(at, key), what: "the key appears twice" + r.where(), advice: "remove one of them"}
		}
		value, wrong := r.value(finding.Child(at, key), depth+1)
		if wrong != nil {
			return nil, wrong
		}
		o.set(key, value)
	}
	_, wrong := r.token(at)
	return o, wrong
}

// raw returns a value as JSON.
func raw(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil { // values come from a JSON document
		return []byte("null")
	}
	return bytes.TrimSpace(text)
}
