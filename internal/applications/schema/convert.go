// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

type props = apiextensionsv1.JSONSchemaProps

// converter makes a structural schema of a document.
type converter struct {
	document any
	// resolving are the references on the way to the current node.
	resolving []string
	nodes     int
	full      bool
	list      finding.List
	internal  []string
	forms     map[string]map[string]json.RawMessage
	order     map[string][]string
}

func newConverter(document any) *converter {
	return &converter{document: document, forms: map[string]map[string]json.RawMessage{}, order: map[string][]string{}}
}

// spot is the place of a node: in the schema, and in the spec.
type spot struct {
	at, spec string
	level    int
}

func (s spot) key(word string) string { return finding.Child(s.at, word) }

func (c *converter) wrong(at, advice, format string, args ...any) {
	c.list.Add(finding.Error, at, advice, format, args...)
}

func (c *converter) relaxed(at, advice, format string, args ...any) {
	c.list.Add(finding.Warning, at, advice, format, args...)
}

// root converts the whole schema.
func (c *converter) root(document any) props {
	node, is := document.(*object)
	if !is {
		c.wrong("", `write {"type":"object","properties":{…}}`, "the schema is not a JSON object")
		return props{}
	}
	out := c.schema(node, spot{})
	if out.Type != "object" && c.list.Err() == nil {
		c.wrong("type", `write {"type":"object","properties":{…}}`, "the spec of an application is an object, and the schema says %s", quoted(out.Type))
	}
	return out
}

func quoted(kind string) string {
	if kind == "" {
		return "nothing about its type"
	}
	return kind
}

// anything is the schema of a value that is not checked.
func anything() props { yes := true; return props{XPreserveUnknownFields: &yes} }

// schema converts one node.
func (c *converter) schema(value any, s spot) props {
	if c.nodes++; c.nodes > maxNodes || s.level > maxNesting {
		c.large(s)
		return anything()
	}
	if allowed, is := value.(bool); is {
		if !allowed {
			c.wrong(s.at, "leave the field out", "a field that refuses every value is not possible")
		}
		return anything()
	}
	node, is := value.(*object)
	if !is {
		c.wrong(s.at, "write a JSON object", "it is not a schema")
		return anything()
	}
	node, done := c.resolve(node, s)
	defer done()
	if node == nil {
		return anything()
	}
	var out props
	c.shape(node, s, &out)
	for _, word := range node.keys {
		c.keyword(word, node.of[word], s, &out)
	}
	conditions := c.parts(node, s, &out)
	c.separate(s, &out)
	complete(node, &out)
	c.restrict(node, conditions, s, &out)
	c.declared(&out, &out, s)
	fillDefault(&out)
	return out
}

// large reports once that the schema has too many fields or levels.
func (c *converter) large(s spot) {
	if c.full {
		return
	}
	c.full = true
	if s.level > maxNesting {
		c.wrong(s.at, "allow any content there with x-kubernetes-preserve-unknown-fields: true", "it has more than %d levels of fields", maxNesting)
		return
	}
	c.wrong(s.at, "allow any content in a part of it with x-kubernetes-preserve-unknown-fields: true",
		"the schema has more than %d fields after its references are resolved", maxNodes)
}

// resolve replaces a reference by what it refers to. Keys beside $ref win. The second result ends
// the resolution.
func (c *converter) resolve(node *object, s spot) (*object, func()) {
	depth := len(c.resolving)
	done := func() { c.resolving = c.resolving[:depth] }
	for node.has("$ref") {
		ref, is := node.of["$ref"].(string)
		if !is {
			c.wrong(s.key("$ref"), "write a string", "the reference is not a string")
			return nil, done
		}
		if slices.Contains(c.resolving, ref) {
			c.wrong(s.key("$ref"), "end the recursion with x-kubernetes-preserve-unknown-fields: true, or list the levels that you need",
				"the schema is recursive: %s", shorten.CutBytes(strings.Join(append(slices.Clone(c.resolving), ref), " → "), maxMessage))
			return nil, done
		}
		target := c.lookup(ref)
		if target == nil {
			c.wrong(s.key("$ref"), "refer to a definition in this document, such as #/definitions/NAME",
				"the reference %q leads to nothing here", shorten.CutBytes(ref, maxMessage))
			return nil, done
		}
		c.resolving = append(c.resolving, ref)
		merged := target.without()
		for _, word := range node.without("$ref").keys {
			merged.set(word, node.of[word])
		}
		node = merged
	}
	return node, done
}

// lookup follows a JSON pointer of the document.
func (c *converter) lookup(ref string) *object {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	value := c.document
	for i, step := range strings.Split(pointer, "/") {
		if i == 0 {
			if step != "" {
				return nil
			}
			continue
		}
		o, is := value.(*object)
		if !is {
			return nil
		}
		value = o.of[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	o, _ := value.(*object)
	return o
}

// shape sets the type.
func (c *converter) shape(node *object, s spot, out *props) {
	switch kind := node.of["type"].(type) {
	case nil:
	case string:
		out.Type = kind
	case []any:
		c.types(kind, s, out)
	default:
		c.wrong(s.key("type"), "write one of object, array, string, integer, number, boolean", "the type is not a string")
	}
	if out.Type != "" && !slices.Contains(kinds, out.Type) {
		c.wrong(s.key("type"), "write one of object, array, string, integer, number, boolean", "the type %q does not exist", shorten.CutBytes(out.Type, maxMessage))
		out.Type = ""
	}
}

var kinds = []string{"object", "array", "string", "integer", "number", "boolean"}

// types handles a list of types: null makes the field nullable, integer and string may be together.
func (c *converter) types(list []any, s spot, out *props) {
	var names []string
	for _, item := range list {
		switch name, _ := item.(string); {
		case name == "null":
			out.Nullable = true
		case slices.Contains(kinds, name):
			names = append(names, name)
		default:
			c.wrong(s.key("type"), "write one of object, array, string, integer, number, boolean", "a type of the list does not exist")
			return
		}
	}
	slices.Sort(names)
	switch {
	case len(names) == 1:
		out.Type = names[0]
	case slices.Equal(names, []string{"integer", "string"}):
		out.XIntOrString = true
	default:
		c.wrong(s.key("type"), "choose one type; only integer and string may be together (x-kubernetes-int-or-string: true)",
			"a field has one type, and this one has %s", strings.Join(names, ", "))
	}
}

// complete adds what a structural schema has to say explicitly.
func complete(node *object, out *props) {
	if out.Type == "" && !out.XIntOrString && !keeps(out) {
		out.Type = inferred(node, out)
	}
	switch {
	case out.XIntOrString:
		out.Type = ""
	case out.Type == "" && !keeps(out):
		keep(out)
	case out.Type == "object" && len(out.Properties) == 0 && out.AdditionalProperties == nil && !node.has("properties"):
		keep(out)
	case out.Type == "array" && out.Items == nil:
		item := anything()
		out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}
	}
}

func keeps(p *props) bool { return p.XPreserveUnknownFields != nil && *p.XPreserveUnknownFields }

func keep(p *props) { yes := true; p.XPreserveUnknownFields = &yes }

// inferred is the type that a schema without one can only mean.
func inferred(node *object, out *props) string {
	switch {
	case len(out.Properties) > 0, out.AdditionalProperties != nil:
		return "object"
	case out.Items != nil:
		return "array"
	case len(out.Enum) > 0:
		return kindOf(out.Enum...)
	case out.Default != nil && (node.has("pattern") || node.has("minLength") || node.has("maxLength") || node.has("minimum") || node.has("maximum")):
		return kindOf(*out.Default)
	case node.has("pattern"), node.has("minLength"), node.has("maxLength"), node.has("format"):
		return "string"
	case node.has("minimum"), node.has("maximum"), node.has("multipleOf"):
		return "number"
	}
	return ""
}

// kindOf returns the common type of values, or "".
func kindOf(values ...apiextensionsv1.JSON) (kind string) {
	for i, value := range values {
		var v any
		if json.Unmarshal(value.Raw, &v) != nil {
			return ""
		}
		this := ""
		switch v := v.(type) {
		case string:
			this = "string"
		case bool:
			this = "boolean"
		case float64:
			if this = "number"; v == float64(int64(v)) && !strings.ContainsAny(string(value.Raw), ".eE") {
				this = "integer"
			}
		}
		if i > 0 && this != kind {
			return ""
		}
		kind = this
	}
	return kind
}

// level is one level of fields further down.
func (s spot) below(at, spec string) spot { return spot{at: at, spec: spec, level: s.level + 1} }

func (s spot) property(name string) spot {
	return s.below(finding.Child(s.key("properties"), name), finding.Child(s.spec, name))
}

func (s spot) element(word string) spot { return s.below(s.key(word), s.spec+"[*]") }
