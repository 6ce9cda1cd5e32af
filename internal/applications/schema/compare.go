// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Change is a difference between two schemas.
type Change struct {
	Path string `json:"path"`
	// Breaking is true if instances that were valid may not be, or may lose a value.
	Breaking bool   `json:"breaking"`
	Words    string `json:"words"`
}

// String returns "PATH: WORDS".
func (c Change) String() string { return strings.TrimPrefix(c.Path+": "+c.Words, ": ") }

// Compare lists what changes for instances, in the order of the paths. Descriptions do not count.
func Compare(older, newer *Schema) []Change {
	var d differ
	d.compare(&older.Spec, &newer.Spec, "")
	slices.SortStableFunc(d.changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return d.changes
}

type differ struct{ changes []Change }

func (d *differ) add(path string, breaking bool, format string, args ...any) {
	d.changes = append(d.changes, Change{Path: path, Breaking: breaking, Words: fmt.Sprintf(format, args...)})
}

func (d *differ) compare(older, newer *props, path string) {
	if a, b := kind(older), kind(newer); a != b {
		// An integer is a number, too, and anything contains everything.
		widens := b == "anything" || a == "integer" && (b == "number" || b == "integer or string") || a == "string" && b == "integer or string"
		d.add(path, !widens, "the type changes from %s to %s", a, b)
		return
	}
	d.fields(older, newer, path)
	d.required(older, newer, path)
	d.values(older, newer, path)
	d.limits(older, newer, path)
	for _, pair := range [][2]*props{{elementOf(older), elementOf(newer)}} {
		if pair[0] != nil && pair[1] != nil {
			d.compare(pair[0], pair[1], path+"[*]")
		}
	}
}

// kind names a type for people.
func kind(p *props) string {
	switch {
	case p.XIntOrString:
		return "integer or string"
	case p.Type == "":
		return "anything"
	case p.Type == "array":
		return "list"
	case p.Type == "object" && p.AdditionalProperties != nil:
		return "map"
	}
	return p.Type
}

// elementOf is the schema of the elements of a list or map, or nil.
func elementOf(p *props) *props {
	switch {
	case p.Items != nil:
		return p.Items.Schema
	case p.AdditionalProperties != nil:
		return p.AdditionalProperties.Schema
	}
	return nil
}

func (d *differ) fields(older, newer *props, path string) {
	for _, name := range slices.Sorted(maps.Keys(older.Properties)) {
		before := older.Properties[name]
		after, is := newer.Properties[name]
		at := finding.Child(path, name)
		switch {
		case is:
			d.compare(&before, &after, at)
		case keeps(newer):
			d.add(at, false, "the field is no longer described, and still accepted")
		default:
			d.add(at, true, "the field is removed: its values are dropped")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(newer.Properties)) {
		if _, was := older.Properties[name]; !was {
			d.add(finding.Child(path, name), keeps(older), "the field is new")
		}
	}
	if keeps(older) && !keeps(newer) && newer.Type == "object" {
		d.add(path, true, "fields that are not described are dropped now")
	}
}

func (d *differ) required(older, newer *props, path string) {
	for _, name := range newer.Required {
		if slices.Contains(older.Required, name) {
			continue
		}
		field := newer.Properties[name]
		// The API server fills in defaults before it validates.
		d.add(finding.Child(path, name), field.Default == nil, "the field is required now")
	}
	for _, name := range older.Required {
		if _, is := newer.Properties[name]; is && !slices.Contains(newer.Required, name) {
			d.add(finding.Child(path, name), false, "the field is optional now")
		}
	}
}

// values compares defaults and lists of values.
func (d *differ) values(older, newer *props, path string) {
	if !reflect.DeepEqual(compact(older.Default), compact(newer.Default)) {
		d.add(path, false, "the default changes from %s to %s for new instances", compact(older.Default), compact(newer.Default))
	}
	if older.Nullable && !newer.Nullable {
		d.add(path, true, "null is not allowed any more")
	}
	var gone, added []string
	had, has := map[string]bool{}, map[string]bool{}
	for _, value := range older.Enum {
		had[compact(&value)] = true
	}
	for _, value := range newer.Enum {
		if has[compact(&value)] = true; !had[compact(&value)] {
			added = append(added, compact(&value))
		}
	}
	for _, value := range older.Enum {
		if !has[compact(&value)] {
			gone = append(gone, compact(&value))
		}
	}
	switch {
	case len(had) == 0 && len(has) > 0:
		d.add(path, true, "only these values are allowed now: %s", shorten.CutBytes(strings.Join(added, ", "), maxMessage))
	case len(had) > 0 && len(has) == 0:
		d.add(path, false, "all values are allowed now")
	default:
		if len(gone) > 0 {
			d.add(path, true, "these values are not allowed any more: %s", shorten.CutBytes(strings.Join(gone, ", "), maxMessage))
		}
		if len(added) > 0 {
			d.add(path, false, "these values are allowed, too: %s", shorten.CutBytes(strings.Join(added, ", "), maxMessage))
		}
	}
}

// compact returns a value on one line, or "none".
func compact(value *apiextensionsv1.JSON) string {
	if value == nil {
		return "none"
	}
	var b bytes.Buffer
	if json.Compact(&b, value.Raw) != nil {
		return shorten.CutBytes(string(value.Raw), maxMessage)
	}
	return shorten.CutBytes(b.String(), maxMessage)
}

// limits compares bounds and conditions.
func (d *differ) limits(older, newer *props, path string) {
	for _, limit := range limits {
		a, b := limit.of(older), limit.of(newer)
		switch {
		case a == nil && b == nil || a != nil && b != nil && *a == *b:
		case b == nil:
			d.add(path, false, "%s is no longer limited", limit.name)
		case a == nil:
			d.add(path, true, "%s is %s now", limit.name, digits(*b))
		default:
			d.add(path, limit.upper == (*b < *a), "%s changes from %s to %s", limit.name, digits(*a), digits(*b))
		}
	}
	for _, text := range []struct{ name, before, after string }{{"pattern", older.Pattern, newer.Pattern}, {"format", older.Format, newer.Format}} {
		switch {
		case text.before == text.after:
		case text.after == "":
			d.add(path, false, "any %s is allowed now", text.name)
		default:
			d.add(path, true, "the %s is %s now", text.name, shorten.CutBytes(text.after, maxMessage))
		}
	}
	if !reflect.DeepEqual(older.XValidations, newer.XValidations) && len(newer.XValidations) > 0 {
		d.add(path, true, "rules of x-kubernetes-validations change")
	}
	before := []any{older.AllOf, older.AnyOf, older.OneOf, older.Not, older.ExclusiveMinimum, older.ExclusiveMaximum, older.MultipleOf, older.XListType}
	after := []any{newer.AllOf, newer.AnyOf, newer.OneOf, newer.Not, newer.ExclusiveMinimum, newer.ExclusiveMaximum, newer.MultipleOf, newer.XListType}
	if !reflect.DeepEqual(before, after) {
		d.add(path, true, "conditions change")
	}
}

func digits(n float64) string { return strings.TrimSuffix(fmt.Sprintf("%.6f", n), ".000000") }

// limits are the bounds of a schema. A lower upper bound may break instances.
var limits = []struct {
	name  string
	upper bool
	of    func(*props) *float64
}{
	{"the minimum", false, func(p *props) *float64 { return p.Minimum }},
	{"the maximum", true, func(p *props) *float64 { return p.Maximum }},
	{"the minimum length", false, func(p *props) *float64 { return asFloat(p.MinLength) }},
	{"the maximum length", true, func(p *props) *float64 { return asFloat(p.MaxLength) }},
	{"the minimum number of elements", false, func(p *props) *float64 { return asFloat(p.MinItems) }},
	{"the maximum number of elements", true, func(p *props) *float64 { return asFloat(p.MaxItems) }},
	{"the minimum number of keys", false, func(p *props) *float64 { return asFloat(p.MinProperties) }},
	{"the maximum number of keys", true, func(p *props) *float64 { return asFloat(p.MaxProperties) }},
}

func asFloat(n *int64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

// Instance is an instance of an application.
type Instance struct {
	Namespace, Name string
	Spec            map[string]any
}

// Stranded is an instance that a schema does not allow.
type Stranded struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	Findings  finding.List `json:"findings"`
}

// Strands returns the instances that the schema refuses, or whose values it drops, in their order.
func (s *Schema) Strands(instances []Instance) (stranded []Stranded) {
	for _, i := range instances {
		var list finding.List
		for _, path := range s.Dropped(i.Spec) {
			list.Add(finding.Error, shorten.CutBytes(path, maxMessage), "keep the field in the schema, or remove it from the instance", "the schema does not have the field, so its value would be dropped")
		}
		list = append(list, s.Validate(s.Default(i.Spec))...)
		if len(list) > 0 {
			stranded = append(stranded, Stranded{Namespace: i.Namespace, Name: i.Name, Findings: list})
		}
	}
	return stranded
}
