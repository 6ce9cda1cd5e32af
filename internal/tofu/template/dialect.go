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
	// Purse is what several renderings may cost together; without one each may cost what one may.
	Purse *Purse
	// Types are those of Functions whose result, a bool, an int64 or a float64, stays what it is in a value, where a text
	// is nothing but one call of them.
	Types []string
}

// Purse pays for renderings that belong together, so that many of them cannot cost many times what one may. It is not for
// concurrent use.
type Purse struct{ left int64 }

// NewPurse makes one that pays for so many renderings, at most, that cost as much as one may.
func NewPurse(renderings int) *Purse { return &Purse{left: int64(renderings) * allowance} }

// pay gives a rendering what it may cost; whoever calls what it returns gives the rest back.
func (p *Purse) pay(b *budget) (rest func()) {
	if p == nil {
		return func() {}
	}
	given := min(p.left, b.left)
	p.left -= given
	b.left = given
	return func() { p.left += max(b.left, 0) }
}

// Has reports whether a text has templates in it.
func (d Dialect) Has(text string) bool { return strings.Contains(text, d.Left) }

// Text renders one text. The field is where it stands, for messages.
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

// Value renders the texts in a value of JSON's kinds, names of its objects among them, and returns another value: its
// whole numbers are int64, others float64. Where textOnly says so, results stay text whatever gave them; a path has the
// names of objects, and "" for an element of a list. The field is where the value stands, for messages.
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
