// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"encoding/json"
	"strings"
)

// Dialect is a notation for templates.
type Dialect struct {
	// Left begins an action; }} ends it.
	Left string
	// Functions are available in addition to the common ones and override those of the same name,
	// with the same arguments. People see only reasons that [Refuse] wraps.
	Functions map[string]any
	// Purse is a shared budget of several renderings; without one each has its own.
	Purse *Purse
	// Types are Functions whose result, a bool, an int64 or a float64, keeps its type in a value,
	// if a text is nothing but one call of them.
	Types []string
}

// Purse pays for related renderings, so that many of them cannot cost many times the allowance. Not
// safe for concurrent use.
type Purse struct{ left int64 }

// NewPurse returns a purse for this number of renderings at the full allowance.
func NewPurse(renderings int) *Purse { return &Purse{left: int64(renderings) * allowance} }

// pay gives a rendering its budget; call the returned function to give the rest back.
func (p *Purse) pay(b *budget) (rest func()) {
	if p == nil {
		return func() {}
	}
	given := min(p.left, b.left)
	p.left -= given
	b.left = given
	return func() { p.left += max(b.left, 0) }
}

// Has reports whether a text contains templates.
func (d Dialect) Has(text string) bool { return strings.Contains(text, d.Left) }

// Text renders one text with the marks of documents, ${{ and }}. field is its position, for messages.
func Text(field, text string, data map[string]any) (string, error) {
	return Dialect{Left: documentLeft}.Text(field, text, data)
}

// Text renders one text. field is its position, for messages.
func (d Dialect) Text(field, text string, data map[string]any) (string, error) {
	if !d.Has(text) {
		return text, nil
	}
	doc := d.document(data, nil)
	defer d.Purse.pay(doc.budget)()
	out, failed := doc.text(text, field)
	if failed != nil {
		return "", failed
	}
	return out, nil
}

// Value renders the strings in a JSON value, with keys, and returns another value, with int64 and
// float64. Where textOnly accepts the path (keys, and "" for elements), results stay text.
func (d Dialect) Value(field string, value any, data map[string]any, textOnly func(path []string) bool) (any, error) {
	doc := d.document(data, textOnly)
	defer d.Purse.pay(doc.budget)()
	out, failed := doc.walk(value, field)
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

// native converts json.Number to int64 and float64.
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
