// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Keywords of JSON Schema and OpenAPI by what happens to them.
var (
	// copied are written as they are.
	copied = []string{
		"title", "description", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "multipleOf",
		"minItems", "maxItems", "minProperties", "maxProperties", "required", "enum", "nullable", "default",
	}
	// silent say nothing about values. Others are handled elsewhere.
	silent = []string{
		"$schema", "$id", "id", "$comment", "$anchor", "$vocabulary", "definitions", "$defs", "components", "deprecated",
		"readOnly", "writeOnly", "contentEncoding", "contentMediaType", "contentSchema", "externalDocs", "xml", "discriminator",
		"type", "$ref", "allOf", "anyOf", "oneOf", "not",
	}
	// lost are conditions that a structural schema cannot express.
	lost = []string{
		"if", "then", "else", "dependencies", "dependentRequired", "dependentSchemas", "propertyNames", "contains", "minContains",
		"maxContains", "additionalItems", "unevaluatedProperties", "unevaluatedItems",
	}
)

// keyword converts one keyword of a node.
func (c *converter) keyword(word string, value any, s spot, out *props) {
	switch {
	case slices.Contains(silent, word):
	case slices.Contains(copied, word), strings.HasPrefix(word, "x-kubernetes-"):
		c.copy(word, value, s, out)
	case strings.HasPrefix(word, "x-"):
		if c.forms[s.spec] == nil {
			c.forms[s.spec] = map[string]json.RawMessage{}
		}
		c.forms[s.spec][word] = raw(value)
	case slices.Contains(lost, word):
		c.relaxed(s.key(word), "write a rule in CEL, in x-kubernetes-validations", "the API server does not enforce it")
	default:
		c.special(word, value, s, out)
	}
}

// special converts keywords with a form of their own.
func (c *converter) special(word string, value any, s spot, out *props) {
	switch word {
	case "const":
		c.copy("enum", []any{value}, spot{at: s.at}, out)
	case "example":
		out.Example = &apiextensionsv1.JSON{Raw: raw(value)}
	case "examples":
		if list, is := value.([]any); is && len(list) > 0 && out.Example == nil {
			out.Example = &apiextensionsv1.JSON{Raw: raw(list[0])}
		}
	case "exclusiveMinimum", "exclusiveMaximum":
		c.bound(word, value, s, out)
	case "uniqueItems":
		c.unique(value, s, out)
	case "properties":
		c.properties(value, s, out)
	case "additionalProperties":
		c.additional(value, s, out)
	case "items":
		c.items(value, s, out)
	case "patternProperties":
		c.wrong(s.key(word), "write additionalProperties with the schema of the values",
			"fields by pattern are not possible: the API server would drop them")
	case "prefixItems":
		c.wrong(s.key(word), "write items with one schema for all elements", "elements with schemas of their own are not possible")
	default:
		c.relaxed(s.key(word), closest(word), "the keyword does not exist, and is ignored")
	}
}

// copy sets one keyword.
func (c *converter) copy(word string, value any, s spot, out *props) {
	if value == nil && word == "default" {
		return // null is what an absent field is
	}
	if list, is := value.([]any); is && word == "enum" && len(list) > 1 {
		if kept := slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == nil }); len(kept) < len(list) {
			value, out.Nullable = kept, true
		}
	}
	if word == "required" {
		value = c.required(value, s)
	}
	document := (&object{of: map[string]any{}})
	document.set(word, value)
	if err := json.Unmarshal(raw(document), out); err != nil {
		c.wrong(s.key(word), "", "the value has the wrong type%s", expected(err))
	}
	if word == "format" && !knownFormat(out) {
		c.relaxed(s.key(word), "write a pattern if values must be checked", "the API server does not know the format %q and accepts any value", shorten.CutBytes(out.Format, maxMessage))
	}
}

func expected(err error) string {
	var kind *json.UnmarshalTypeError
	if asType(err, &kind) && kind.Type != nil {
		return ": " + kind.Value + " instead of " + kind.Type.Kind().String()
	}
	return ""
}

// required drops internal keys at the top level.
func (c *converter) required(value any, s spot) any {
	list, is := value.([]any)
	if !is || s.spec != "" {
		return value
	}
	return slices.DeleteFunc(slices.Clone(list), func(v any) bool {
		name, is := v.(string)
		return is && internalKey(name)
	})
}

// bound converts an exclusive bound, which is a number since draft 6.
func (c *converter) bound(word string, value any, s spot, out *props) {
	if _, is := value.(bool); is {
		c.copy(word, value, s, out)
		return
	}
	inclusive := map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[word]
	c.copy(inclusive, value, s, out)
	c.copy(word, true, s, out)
}

// unique converts uniqueItems, which only exists as a type of lists.
func (c *converter) unique(value any, s spot, out *props) {
	if value != true {
		return
	}
	if out.XListType == nil {
		set := "set"
		out.XListType = &set
	}
}

func (c *converter) properties(value any, s spot, out *props) {
	fields, is := value.(*object)
	if !is {
		c.wrong(s.key("properties"), "write an object with a schema for each field", "it is not an object")
		return
	}
	out.Properties = make(map[string]props, len(fields.keys))
	for _, name := range fields.keys {
		if s.spec == "" && internalKey(name) {
			c.internal = append(c.internal, name)
			continue
		}
		if name == "" {
			c.wrong(s.key("properties"), "name it", "a field has an empty name")
			continue
		}
		c.order[s.spec] = append(c.order[s.spec], name)
		out.Properties[name] = c.schema(fields.of[name], s.property(name))
	}
}

func (c *converter) additional(value any, s spot, out *props) {
	allowed, is := value.(bool)
	switch {
	case is && !allowed:
		// Fields that are not in the schema are refused or pruned anyway.
		if out.Properties == nil {
			out.Properties = map[string]props{}
		}
	case is:
		keep(out)
	default:
		inner := c.schema(value, s.element("additionalProperties"))
		out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &inner}
	}
}

func (c *converter) items(value any, s spot, out *props) {
	if _, is := value.([]any); is {
		c.wrong(s.key("items"), "write one schema for all elements", "elements with schemas of their own are not possible")
		return
	}
	inner := c.schema(value, s.element("items"))
	out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &inner}
}
