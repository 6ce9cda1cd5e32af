// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package contracttest draws random types of contracts and values of them, for the laws of the
// packages below internal/contracts.
package contracttest

import (
	"strings"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"github.com/yuba-dev/yuba/internal/contracts/shape"
)

// names are few, so that types drawn apart have attributes in common.
var names = []string{"a", "b", "id", "null", "größe", "for"}

// TypeText draws the text of a type, which parses.
func TypeText(t *rapid.T) string { return typeText(t, 3) }

// Type draws a type.
func Type(t *rapid.T) shape.Type {
	text := TypeText(t)
	ty, err := shape.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return ty
}

func typeText(t *rapid.T, depth int) string {
	kinds := []string{"string", "number", "bool", "any", "string", "number"}
	if depth > 0 {
		kinds = append(kinds, "list", "set", "map", "tuple", "object", "object", "object", "object")
	}
	switch k := rapid.SampledFrom(kinds).Draw(t, "kind"); k {
	case "list", "set", "map":
		return k + "(" + typeText(t, depth-1) + ")"
	case "tuple":
		var elements []string
		for range rapid.IntRange(0, 2).Draw(t, "length") {
			elements = append(elements, typeText(t, depth-1))
		}
		return "tuple([" + strings.Join(elements, ", ") + "])"
	case "object":
		var attributes []string
		for _, name := range names {
			if name == "for" && len(attributes) == 0 {
				continue // in front it begins a for expression
			}
			if rapid.IntRange(0, 2).Draw(t, "has "+name) == 0 {
				attributes = append(attributes, name+" = "+attributeText(t, depth-1))
			}
		}
		return "object({" + strings.Join(attributes, ", ") + "})"
	default:
		return k
	}
}

func attributeText(t *rapid.T, depth int) string {
	inner := typeText(t, depth)
	switch rapid.IntRange(0, 3).Draw(t, "presence") {
	case 0:
		return "optional(" + inner + ")"
	case 1:
		for prefix, value := range map[string]string{
			"string": `"a\n$${\"\\é"`, "number": "-1.5", "bool": "true", "any": `{x = ["1", 2], "for" = 1, "a b" = {}}`,
			"list": "[]", "set": "[]", "map": "{}",
		} {
			if strings.HasPrefix(inner, prefix) {
				return "optional(" + inner + ", " + value + ")"
			}
		}
	}
	return inner
}

// Delivered draws a value of a type as a contract delivers it: null only where an attribute is
// optional without a default.
func Delivered(t *rapid.T, of shape.Type) cty.Value { return value(t, of, false) }

// Written draws a value of a type as a producer writes it: optional attributes may be missing or
// null, and further attributes may be there.
func Written(t *rapid.T, of shape.Type) cty.Value { return value(t, of, true) }

func value(t *rapid.T, of shape.Type, written bool) cty.Value {
	switch of.Kind() {
	case shape.String:
		return cty.StringVal(rapid.SampledFrom([]string{"", "a", "1", "é", "\u2028<"}).Draw(t, "text"))
	case shape.Number:
		return cty.MustParseNumberVal(rapid.SampledFrom([]string{"0", "-1", "1.5", "12345678901234567890123", "1e30", "0.1"}).Draw(t, "number"))
	case shape.Bool:
		return cty.BoolVal(rapid.Bool().Draw(t, "bool"))
	case shape.List, shape.Set:
		return sequence(t, of, written)
	case shape.Map:
		entries := map[string]cty.Value{}
		for _, element := range sequence(t, of, written).AsValueSlice() {
			entries[rapid.SampledFrom([]string{"k", "a.b", "é"}).Draw(t, "key")] = element
		}
		return cty.ObjectVal(entries)
	case shape.Tuple:
		elements := []cty.Value{}
		for _, element := range of.Elements() {
			elements = append(elements, value(t, element, written))
		}
		return cty.TupleVal(elements)
	case shape.Object:
		attributes := map[string]cty.Value{}
		if written && rapid.Bool().Draw(t, "extra") {
			attributes["extra"] = cty.True
		}
		for _, a := range of.Attributes() {
			switch {
			case written && a.Optional && rapid.Bool().Draw(t, "left out"):
			case (written && a.Optional || a.MayBeNull()) && rapid.Bool().Draw(t, "null"):
				attributes[a.Name] = cty.NullVal(cty.DynamicPseudoType)
			default:
				attributes[a.Name] = value(t, a.Type, written)
			}
		}
		return cty.ObjectVal(attributes)
	}
	return rapid.SampledFrom([]cty.Value{
		cty.StringVal("any"), cty.Zero, cty.EmptyTupleVal, cty.EmptyObjectVal,
		cty.ObjectVal(map[string]cty.Value{"a": cty.NullVal(cty.DynamicPseudoType), "id": cty.StringVal("x")}),
	}).Draw(t, "any")
}

// sequence draws elements that OpenTofu gives one type, as its lists have: with any in it, one value
// several times.
func sequence(t *rapid.T, of shape.Type, written bool) cty.Value {
	elements := []cty.Value{}
	length := rapid.IntRange(0, 3).Draw(t, "length")
	if strings.Contains(of.String(), "any") {
		length = min(length, 1)
	}
	for range length {
		elements = append(elements, value(t, of.Element(), written))
	}
	return cty.TupleVal(elements)
}
