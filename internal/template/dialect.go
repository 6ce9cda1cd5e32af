// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"encoding/json"
	"strings"
)

// Dialect is a way to write templates.
type Dialect struct {
	// Left begins an action; }} ends it.
	Left string
	// Functions are what templates can call beside what all can; of two with one name this one counts, and has the
	// arguments of the other. Only the reasons that [Refuse] gives them are shown to people.
	Functions map[string]any
	// Types are those of Functions whose result, a bool, an int64 or a float64, stays what it is in a value, where a text
	// is nothing but one call of them.
	Types []string
}

// Has reports whether a text has templates in it.
func (d Dialect) Has(text string) bool { return strings.Contains(text, d.Left) }

// Text renders one text. The field is where it stands, for messages.
func (d Dialect) Text(field, text string, data map[string]any) (string, error) {
	if !d.Has(text) {
		return text, nil
	}
	out, failed := d.document(data, nil).text(text, field)
	if failed != nil {
		return "", failed
	}
	return out, nil
}

// Value renders the texts in a value of JSON's kinds, names of its objects among them, and returns another value: its
// whole numbers are int64, others float64. Where textOnly says so, results stay text whatever gave them; a path has the
// names of objects, and "" for an element of a list. The field is where the value stands, for messages.
func (d Dialect) Value(field string, value any, data map[string]any, textOnly func(path []string) bool) (any, error) {
	out, failed := d.document(data, textOnly).walk(value, field)
	if failed != nil {
		return nil, failed
	}
	return native(out), nil
}

func (d Dialect) document(data map[string]any, textOnly func([]string) bool) *document {
	types := map[string]bool{}
	for _, name := range d.Types {
		types[name] = true
	}
	return &document{renderer: renderer{budget: newBudget(), left: d.Left, own: d.Functions, types: types}, data: data, textOnly: textOnly}
}

// native makes int64 and float64 of numbers that are written in digits.
func native(value any) any {
	switch v := value.(type) {
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return whole
		}
		if number, err := v.Float64(); err == nil {
			return number
		}
		return v.String()
	case []any:
		for i, item := range v {
			v[i] = native(item)
		}
	case map[string]any:
		for name, item := range v {
			v[name] = native(item)
		}
	}
	return value
}
