// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
)

// Sign says what happens to the part on a line.
type Sign string

// The signs.
const (
	Same    Sign = " "
	Added   Sign = "+"
	Removed Sign = "-"
	Changed Sign = "~"
)

// Line is one line of a difference, as [Render] writes it. Its text is printable.
type Line struct {
	// Indent is its indentation in characters.
	Indent int
	Sign   Sign
	Text   string
	// Forces is true if this difference forces a replacement.
	Forces bool
	// Note is true if the line only counts what is not shown.
	Note bool
}

// Lines returns the difference that a change makes. With all, it has unchanged parts, too.
func (c *ResourceChange) Lines(all bool) []Line {
	d := &differ{replaces: c.Replaces, all: all}
	d.change(c, "")
	return d.written
}

// Headline describes the change in a sentence. drifted is true for a change outside of the stack.
func (c *ResourceChange) Headline(drifted bool) string { return painter(false).headline(c, drifted) }

// Notes say why the object is changed, and what else there is to know.
func (c *ResourceChange) Notes() []string { return notes(c) }

// OutputLines returns the difference of the outputs.
func (p *Plan) OutputLines(all bool) []Line {
	d := &differ{all: all}
	d.outputs(p, "")
	return d.written
}

// Compare returns the difference of two objects; nil for one that does not exist.
func Compare(before, after *Value, all bool) []Line {
	d := &differ{all: all}
	d.attributes(before, after, "")
	return d.written
}

// ReadValues reads two values without marks, such as the attributes of a resource in two states; nil
// for none. hides reports what is sensitive, by its path of attribute names and indices.
func ReadValues(before, after json.RawMessage, hides func(path []string, value any) bool) (b, a *Value, err error) {
	r := &valueReader{hides: hides}
	if b, err = r.read(before); err == nil {
		a, err = r.read(after)
	}
	return b, a, err
}

type valueReader struct {
	numbering
	hides func(path []string, value any) bool
}

func (r *valueReader) read(raw json.RawMessage) (*Value, error) {
	if raw == nil {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, errors.New("read a value: it is not valid JSON") // the decoder's error may quote a secret
	}
	v := r.value(tree, nil)
	return &v, nil
}

func (r *valueReader) value(tree any, path []string) Value {
	if tree != nil && r.hides(path, tree) {
		return r.sensitive(tree)
	}
	within := func(step string) []string { return append(slices.Clip(path), step) }
	switch t := tree.(type) {
	case []any:
		v := Value{kind: List}
		for i, element := range t {
			v.list = append(v.list, r.value(element, within(strconv.Itoa(i))))
		}
		return v
	case map[string]any:
		v := Value{kind: Object, object: make(map[string]Value, len(t))}
		for _, name := range keys(t) {
			v.object[name] = r.value(t[name], within(name))
		}
		return v
	}
	return scalar(tree)
}
