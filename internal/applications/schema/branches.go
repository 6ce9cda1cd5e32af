// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// parts takes over what branches declare: the fields of allOf, and alternatives that are one type.
// It returns the branches that are left, which are conditions.
func (c *converter) parts(node *object, s spot, out *props) map[string]map[int]any {
	rest := map[string]map[int]any{}
	for _, word := range junctors {
		if !node.has(word) {
			continue
		}
		list, is := node.of[word].([]any)
		if !is || len(list) == 0 {
			c.wrong(s.key(word), "write a list of schemas", "it is not a list of schemas")
			continue
		}
		if word != "allOf" && c.alternatives(list, s, out) {
			continue
		}
		rest[word] = map[int]any{}
		for i, item := range list {
			if at := s.branch(word, i); word == "allOf" && defines(item) {
				c.merge(c.schema(item, at), at, out)
			} else {
				rest[word][i] = item
			}
		}
	}
	return rest
}

var junctors = []string{"allOf", "anyOf", "oneOf"}

func (s spot) branch(word string, i int) spot {
	return spot{at: finding.Index(s.key(word), i), spec: s.spec, level: s.level + 1}
}

// restrict adds conditions. They have no types, descriptions and defaults.
func (c *converter) restrict(node *object, rest map[string]map[int]any, s spot, out *props) {
	for _, word := range junctors {
		for _, i := range slices.Sorted(maps.Keys(rest[word])) {
			if inner, ok := c.condition(rest[word][i], s.branch(word, i), out); ok {
				join(out, word, inner)
			}
		}
	}
	if !node.has("not") {
		return
	}
	if inner, ok := c.condition(node.of["not"], spot{at: s.key("not"), spec: s.spec, level: s.level + 1}, out); ok {
		out.Not = &inner
	}
}

// separate handles fields beside values of any other key, which a structural schema cannot have.
func (c *converter) separate(s spot, out *props) {
	if out.AdditionalProperties == nil || len(out.Properties) == 0 {
		return
	}
	out.AdditionalProperties = nil
	keep(out)
	c.relaxed(s.key("additionalProperties"), "move them into a field of their own",
		"values of other keys are accepted unchecked, because the object has fields, too")
}

// defines reports whether a branch of allOf declares fields, and not only conditions.
func defines(item any) bool {
	node, is := item.(*object)
	if !is {
		return false
	}
	return slices.ContainsFunc([]string{"$ref", "type", "properties", "items", "additionalProperties"}, node.has)
}

// merge adds what a branch of allOf declares.
func (c *converter) merge(part props, s spot, out *props) {
	for _, name := range slices.Sorted(maps.Keys(part.Properties)) {
		if out.Properties == nil {
			out.Properties = map[string]props{}
		}
		if had, twice := out.Properties[name]; twice && !reflect.DeepEqual(had, part.Properties[name]) {
			c.wrong(finding.Child(s.key("properties"), name), "declare it once", "the field is declared differently elsewhere")
			continue
		}
		out.Properties[name] = part.Properties[name]
	}
	required := slices.Concat(out.Required, part.Required)
	slices.Sort(required)
	if required = slices.Compact(required); len(required) > 0 {
		out.Required = required
	}
	part.Properties, part.Required = nil, nil
	if keeps(&part) && len(out.Properties) > 0 {
		part.XPreserveUnknownFields = nil // it only had no fields of its own
	}
	c.fill(part, s, out)
}

// fill copies what is not set yet, field by field.
func (c *converter) fill(part props, s spot, out *props) {
	from, to := reflect.ValueOf(&part).Elem(), reflect.ValueOf(out).Elem()
	for i := range from.NumField() {
		value, had := from.Field(i), to.Field(i)
		name := from.Type().Field(i).Name
		switch {
		case value.IsZero(), reflect.DeepEqual(value.Interface(), had.Interface()):
		case had.IsZero():
			had.Set(value)
		case name == "Description" || name == "Title" || name == "Example":
			// the outer one wins
		default:
			c.wrong(s.at, "declare it once", "%s differs from what is declared elsewhere", name)
		}
	}
}

// alternatives handles branches that only differ in type: null, or an integer and a string.
func (c *converter) alternatives(list []any, s spot, out *props) bool {
	var rest []*object
	nullable := false
	for _, item := range list {
		node, is := item.(*object)
		if !is {
			return false
		}
		if node.of["type"] == "null" {
			nullable = true
			continue
		}
		rest = append(rest, node)
	}
	switch {
	case intOrString(rest):
		out.XIntOrString = true
		for _, node := range rest {
			for _, word := range node.without("type").keys {
				c.keyword(word, node.of[word], s, out)
			}
		}
	case nullable && len(rest) == 1:
		c.merge(c.schema(rest[0], s), s, out)
	default:
		return c.several(rest, s, out)
	}
	out.Nullable = out.Nullable || nullable
	return true
}

// several takes over the type that all branches have. If they have several, the value cannot be
// checked, and the branches are dropped.
func (c *converter) several(list []*object, s spot, out *props) bool {
	var names []string
	for _, node := range list {
		if name, is := node.of["type"].(string); is {
			names = append(names, name)
		}
	}
	if out.Type != "" || out.XIntOrString || len(names) == 0 {
		return false
	}
	slices.Sort(names)
	if kinds := slices.Compact(slices.Clone(names)); len(kinds) > 1 || len(names) < len(list) {
		c.relaxed(s.at, "give the field one type; for an integer or a string write x-kubernetes-int-or-string: true",
			"values are accepted unchecked, because the field may have several types: %s", shorten.CutBytes(strings.Join(kinds, ", "), maxMessage))
		return true
	}
	out.Type = names[0]
	return false
}

// intOrString reports whether the branches are an integer and a string, with conditions that apply
// to one of both types only.
func intOrString(list []*object) bool {
	if len(list) != 2 {
		return false
	}
	var names []string
	for _, node := range list {
		name, _ := node.of["type"].(string)
		names = append(names, name)
		if slices.ContainsFunc(node.keys, func(word string) bool {
			return !slices.Contains([]string{"type", "title", "description", "pattern", "minLength", "maxLength", "minimum", "maximum", "format"}, word)
		}) {
			return false
		}
	}
	slices.Sort(names)
	return slices.Equal(names, []string{"integer", "string"})
}

// join adds a condition to one of the three lists.
func join(out *props, word string, inner props) {
	switch word {
	case "allOf":
		out.AllOf = append(out.AllOf, inner)
	case "anyOf":
		out.AnyOf = append(out.AnyOf, inner)
	case "oneOf":
		out.OneOf = append(out.OneOf, inner)
	}
}

// condition converts a schema inside of allOf, anyOf, oneOf or not.
func (c *converter) condition(value any, s spot, outer *props) (out props, ok bool) {
	node, is := value.(*object)
	if c.nodes++; !is || c.nodes > maxNodes || s.level > maxNesting {
		if !is {
			c.wrong(s.at, "write a JSON object", "it is not a schema")
		} else {
			c.large(s)
		}
		return out, false
	}
	node, done := c.resolve(node, s)
	defer done()
	if node == nil {
		return out, false
	}
	if kind, is := node.of["type"].(string); is && kind != outer.Type && outer.Type != "" {
		c.wrong(s.key("type"), "give the field one type; for an integer or a string write x-kubernetes-int-or-string: true",
			"a field has one type, and conditions cannot change it")
		return out, false
	}
	// Descriptions of conditions are for readers of the text only.
	for _, word := range node.without("type", "title", "description", "default", "example", "examples").keys {
		switch word {
		case "properties":
			c.conditions(node.of[word], s, outer, &out)
		case "items":
			if inner, ok := c.condition(node.of[word], spot{at: s.key(word), spec: s.spec, level: s.level + 1}, itemsOf(outer)); ok {
				out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &inner}
			}
		case "additionalProperties":
			if node.of[word] != false {
				c.wrong(s.key(word), "remove it", "a condition cannot allow other fields")
			}
		case "allOf", "anyOf", "oneOf":
			list, _ := node.of[word].([]any)
			for i, item := range list {
				if inner, ok := c.condition(item, s.branch(word, i), outer); ok {
					join(&out, word, inner)
				}
			}
		case "not":
			at := spot{at: s.key(word), spec: s.spec, level: s.level + 1}
			if inner, ok := c.condition(node.of[word], at, outer); ok {
				out.Not = &inner
			}
		default:
			c.keyword(word, node.of[word], s, &out)
		}
	}
	c.declared(&out, outer, s)
	return out, true
}

// conditions converts conditions on fields. Their types are those of the fields.
func (c *converter) conditions(value any, s spot, outer, out *props) {
	fields, is := value.(*object)
	if !is {
		c.wrong(s.key("properties"), "write an object with a schema for each field", "it is not an object")
		return
	}
	out.Properties = map[string]props{}
	for _, name := range fields.keys {
		at := spot{at: finding.Child(s.key("properties"), name), spec: finding.Child(s.spec, name), level: s.level + 1}
		declared, is := outer.Properties[name]
		switch {
		case is:
		case outer.AdditionalProperties != nil && outer.AdditionalProperties.Schema != nil:
			declared = *outer.AdditionalProperties.Schema
		default:
			declared = anything()
			if !keeps(outer) {
				c.wrong(at.at, "declare the field in properties of the object, too", "the condition is about a field that does not exist")
			}
		}
		if inner, ok := c.condition(fields.of[name], at, &declared); ok {
			out.Properties[name] = inner
		}
	}
}

// declared checks that required fields exist: otherwise no instance is valid.
func (c *converter) declared(p, outer *props, s spot) {
	if outer.AdditionalProperties != nil || keeps(outer) {
		return
	}
	for _, name := range p.Required {
		if _, is := outer.Properties[name]; !is {
			c.wrong(s.key("required"), "declare it in properties", "the field %q is required and does not exist", shorten.CutBytes(name, maxMessage))
		}
	}
}

func itemsOf(p *props) *props {
	if p.Items != nil && p.Items.Schema != nil {
		return p.Items.Schema
	}
	return &props{}
}

func asType(err error, target **json.UnmarshalTypeError) bool { return errors.As(err, target) }
