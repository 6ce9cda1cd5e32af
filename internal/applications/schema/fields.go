// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Field is a field of a spec, for forms and documentation. Its texts are the author's: show them
// escaped.
type Field struct {
	Name string `json:"name"`
	// Path is the path in the spec; [*] is each element of a list or map.
	Path string `json:"path"`
	// Type is for people: "string", "list of string", "map of object".
	Type        string          `json:"type"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Required    bool            `json:"required,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	// Values are the allowed values, as JSON.
	Values []json.RawMessage `json:"values,omitempty"`
	// Conditions describe limits: "at least 1", "matches ^a".
	Conditions []string `json:"conditions,omitempty"`
	// Extensions are form keys, such as x-cozystack-options.
	Extensions map[string]json.RawMessage `json:"extensions,omitempty"`
	// Fields are those of the object, or of the elements of the list or map.
	Fields []Field `json:"fields,omitempty"`
}

// Fields returns the fields of the spec. The order is that of a definition's keysOrder, a list of
// paths such as ["spec", "replicas"]; others follow in the order of the text.
func (s *Schema) Fields(order [][]string) []Field {
	ranks := map[string]int{}
	for i, path := range order {
		if len(path) < 2 || path[0] != "spec" {
			continue
		}
		at := ""
		for _, key := range path[1:] {
			at = finding.Child(at, key)
		}
		if _, twice := ranks[at]; !twice {
			ranks[at] = i
		}
	}
	return s.fields(&s.Spec, "", ranks)
}

func (s *Schema) fields(p *props, path string, ranks map[string]int) []Field {
	fields := make([]Field, 0, len(p.Properties))
	for _, name := range s.names(p, path, ranks) {
		field := p.Properties[name]
		at := finding.Child(path, name)
		f := Field{
			Name: name, Path: at, Type: typeName(&field), Title: field.Title, Description: field.Description,
			Required: slices.Contains(p.Required, name), Conditions: conditions(&field), Extensions: s.Extensions[at],
		}
		if field.Default != nil {
			f.Default = slices.Clone(field.Default.Raw)
		}
		for _, value := range field.Enum {
			f.Values = append(f.Values, slices.Clone(value.Raw))
		}
		f.Fields = s.fields(&field, at, ranks)
		for inner := elementOf(&field); inner != nil; inner = elementOf(inner) {
			at += "[*]"
			f.Fields = append(f.Fields, s.fields(inner, at, ranks)...)
		}
		fields = append(fields, f)
	}
	return fields
}

// names returns the names of fields in their order.
func (s *Schema) names(p *props, path string, ranks map[string]int) []string {
	var names []string
	for _, name := range slices.Concat(s.order[path], slices.Sorted(maps.Keys(p.Properties))) {
		if _, is := p.Properties[name]; is && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	rank := func(name string) int {
		if i, is := ranks[finding.Child(path, name)]; is {
			return i
		}
		return len(ranks) + maxNodes
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names
}

func typeName(p *props) string {
	if inner := elementOf(p); inner != nil {
		return kind(p) + " of " + typeName(inner)
	}
	return kind(p)
}

// conditions describes the limits of a field.
func conditions(p *props) (list []string) {
	bound := func(n *float64, exclusive bool, words, strict string) {
		switch {
		case n == nil:
		case exclusive:
			list = append(list, strict+" "+digits(*n))
		default:
			list = append(list, words+" "+digits(*n))
		}
	}
	bound(p.Minimum, p.ExclusiveMinimum, "at least", "more than")
	bound(p.Maximum, p.ExclusiveMaximum, "at most", "less than")
	bound(p.MultipleOf, false, "a multiple of", "")
	for _, size := range []struct {
		least, most *int64
		noun        string
	}{{p.MinLength, p.MaxLength, "characters"}, {p.MinItems, p.MaxItems, "elements"}, {p.MinProperties, p.MaxProperties, "keys"}} {
		if size.least != nil {
			list = append(list, "at least "+digits(float64(*size.least))+" "+size.noun)
		}
		if size.most != nil {
			list = append(list, "at most "+digits(float64(*size.most))+" "+size.noun)
		}
	}
	if p.Pattern != "" {
		list = append(list, "matches "+shorten.CutBytes(p.Pattern, maxMessage))
	}
	if p.Format != "" {
		list = append(list, "format "+shorten.CutBytes(p.Format, maxMessage))
	}
	if p.Nullable {
		list = append(list, "may be null")
	}
	for _, rule := range p.XValidations {
		switch {
		case strings.ReplaceAll(rule.Rule, " ", "") == "self==oldSelf":
			list = append(list, "cannot be changed")
		case rule.Message != "":
			list = append(list, shorten.CutBytes(rule.Message, maxMessage))
		default:
			list = append(list, "satisfies "+shorten.CutBytes(rule.Rule, maxMessage))
		}
	}
	return list
}
