// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
)

// narrowed says why values of the type before may not be accepted, or lose something, where the type
// is after; nil if every value is accepted. tofu converts numbers and booleans to strings, and
// between kinds of collections; it drops attributes of objects that a type does not have.
func narrowed(before, after cty.Type, path string) []string {
	wants := func() []string {
		return []string{fmt.Sprintf("%s was %s and is %s", path, name(before), name(after))}
	}
	switch {
	case after == cty.DynamicPseudoType || before.Equals(after):
		return nil
	case before == cty.DynamicPseudoType:
		return wants()
	case after.IsPrimitiveType():
		if after == cty.String && before.IsPrimitiveType() {
			return nil
		}
		return wants()
	case isSequence(after):
		return narrowedSequence(before, after, path, wants)
	case after.IsTupleType():
		if !before.IsTupleType() || before.Length() != after.Length() {
			return wants()
		}
		var out []string
		for i, element := range after.TupleElementTypes() {
			out = append(out, narrowed(before.TupleElementType(i), element, fmt.Sprintf("%s[%d]", path, i))...)
		}
		return out
	case after.IsMapType():
		return narrowedMap(before, after, path, wants)
	case after.IsObjectType() && before.IsObjectType():
		return narrowedObject(before, after, path)
	}
	return wants()
}

// isSequence reports whether a type is a list or a set.
func isSequence(ty cty.Type) bool { return ty.IsListType() || ty.IsSetType() }

func narrowedSequence(before, after cty.Type, path string, wants func() []string) []string {
	var out []string
	switch {
	case isSequence(before):
		if before.IsListType() && after.IsSetType() {
			return wants() // it loses its order and duplicates
		}
		return narrowed(before.ElementType(), after.ElementType(), path+"[*]")
	case before.IsTupleType():
		for i, element := range before.TupleElementTypes() {
			out = append(out, narrowed(element, after.ElementType(), fmt.Sprintf("%s[%d]", path, i))...)
		}
		return out
	}
	return wants()
}

func narrowedMap(before, after cty.Type, path string, wants func() []string) []string {
	switch {
	case before.IsMapType():
		return narrowed(before.ElementType(), after.ElementType(), path+"[*]")
	case before.IsObjectType():
		var out []string
		for _, attribute := range slices.Sorted(maps.Keys(before.AttributeTypes())) {
			out = append(out, narrowed(before.AttributeType(attribute), after.ElementType(), path+"."+attribute)...)
		}
		return out
	}
	return wants()
}

func narrowedObject(before, after cty.Type, path string) []string {
	var out []string
	for _, attribute := range slices.Sorted(maps.Keys(after.AttributeTypes())) {
		at, required := path+"."+attribute, !after.AttributeOptional(attribute)
		switch {
		case !before.HasAttribute(attribute) && required:
			out = append(out, at+" is new and required")
		case !before.HasAttribute(attribute):
		default:
			if required && before.AttributeOptional(attribute) {
				out = append(out, at+" was optional and is required")
			}
			out = append(out, narrowed(before.AttributeType(attribute), after.AttributeType(attribute), at)...)
		}
	}
	for _, attribute := range slices.Sorted(maps.Keys(before.AttributeTypes())) {
		if !after.HasAttribute(attribute) {
			out = append(out, fmt.Sprintf("%s.%s was removed and is ignored", path, attribute))
		}
	}
	return out
}

// name names a type in a message; large types by their kind.
func name(ty cty.Type) string {
	if text := typeexpr.TypeString(ty); len(text) <= 60 {
		return text
	}
	return ty.FriendlyNameForConstraint()
}
