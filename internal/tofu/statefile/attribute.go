// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Attribute is a value in a resource, or the whole of it.
type Attribute struct {
	// Digest is equal for equal values.
	Digest string
	// Shown is the value for people, with sensitive parts masked.
	Shown string
}

// Attribute returns the value at a path of names and indices; the whole resource for an empty one. It is
// nil if there is none.
func (r Resource) Attribute(path []string) (*Attribute, error) {
	decoder := json.NewDecoder(bytes.NewReader(r.Attributes))
	decoder.UseNumber()
	var value any = map[string]any{}
	if len(r.Attributes) > 0 {
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("read the attributes of %s: %w", r.Address, withoutContent(err))
		}
	}
	p := printer{Builder: &strings.Builder{}}
	paths := r.SensitivePaths
	p.collect(value, paths)
	sensitive := ends(paths)
	for _, step := range path {
		if object, ok := value.(map[string]any); ok && dynamic(object) {
			paths = p.through(object, "value", paths, sensitive)
			value = object["value"]
		}
		var found bool
		object, _ := value.(map[string]any)
		if value, found = child(value, step); !found {
			return nil, nil
		}
		paths = p.through(object, step, paths, sensitive)
		sensitive = sensitive || ends(paths)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	p.value(value, paths, "")
	return &Attribute{Digest: Digest(text), Shown: p.String()}, nil
}

// child is a field of an object, or an element of a list.
func child(value any, step string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		inner, ok := v[step]
		return inner, ok
	case []any:
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}
