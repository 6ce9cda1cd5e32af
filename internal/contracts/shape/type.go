// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
)

// Kind is the outermost constructor of a type.
type Kind uint8

// The kinds.
const (
	Any Kind = iota
	String
	Number
	Bool
	List
	Set
	Map
	Tuple
	Object
)

var keywords = [...]string{"any", "string", "number", "bool", "list", "set", "map", "tuple", "object"}

func (k Kind) String() string { return keywords[k] }

// IsPrimitive reports whether values of the kind have no parts.
func (k Kind) IsPrimitive() bool { return k == String || k == Number || k == Bool }

// Type is a type. The zero value is any. A type is immutable.
type Type struct{ *node }

type node struct {
	kind       Kind
	elements   []Type // one for collections
	attributes []Attribute
}

// Attribute is an attribute of an object type.
type Attribute struct {
	Name string
	Type Type
	// Optional attributes may be left out. If they have no Default, they are null then.
	Optional bool
	// Default is cty.NilVal without a default.
	Default cty.Value
}

// MayBeNull reports whether a delivered value may have a null here.
func (a Attribute) MayBeNull() bool { return a.Optional && a.Default == cty.NilVal }

// Kind returns the kind of the type.
func (t Type) Kind() Kind {
	if t.node == nil {
		return Any
	}
	return t.kind
}

// Element returns the type of a collection's elements.
func (t Type) Element() Type {
	if k := t.Kind(); k == List || k == Set || k == Map {
		return t.elements[0]
	}
	return Type{}
}

// Elements returns the types of a tuple's elements. Do not modify them.
func (t Type) Elements() []Type {
	if t.Kind() != Tuple {
		return nil
	}
	return t.elements
}

// Attributes returns the attributes of an object type, sorted by name. Do not modify them.
func (t Type) Attributes() []Attribute {
	if t.node == nil {
		return nil
	}
	return t.attributes
}

// Attribute returns an attribute of an object type.
func (t Type) Attribute(name string) (Attribute, bool) {
	list := t.Attributes()
	i, found := slices.BinarySearchFunc(list, name, func(a Attribute, name string) int { return strings.Compare(a.Name, name) })
	if !found {
		return Attribute{}, false
	}
	return list[i], true
}

// Equal reports whether two types are the same, defaults included.
func (t Type) Equal(u Type) bool { return t.String() == u.String() }

// Of returns the type that a variable declares. defaults may be nil.
func Of(ty cty.Type, defaults *typeexpr.Defaults) Type {
	child := func(key string) *typeexpr.Defaults {
		if defaults == nil {
			return nil
		}
		return defaults.Children[key]
	}
	collection := func(k Kind) Type {
		return Type{&node{kind: k, elements: []Type{Of(ty.ElementType(), child(""))}}}
	}
	switch {
	case ty == cty.String:
		return Type{&node{kind: String}}
	case ty == cty.Number:
		return Type{&node{kind: Number}}
	case ty == cty.Bool:
		return Type{&node{kind: Bool}}
	case ty.IsListType():
		return collection(List)
	case ty.IsSetType():
		return collection(Set)
	case ty.IsMapType():
		return collection(Map)
	case ty.IsTupleType():
		n := &node{kind: Tuple}
		for i, element := range ty.TupleElementTypes() {
			n.elements = append(n.elements, Of(element, child(digits(i))))
		}
		return Type{n}
	case ty.IsObjectType():
		n := &node{kind: Object}
		for name, attribute := range ty.AttributeTypes() {
			a := Attribute{Name: name, Type: Of(attribute, child(name)), Optional: ty.AttributeOptional(name)}
			if defaults != nil {
				// A default of null is the same as none.
				if value, ok := defaults.DefaultValues[name]; ok && a.Optional && !value.IsNull() {
					a.Default = value
				}
			}
			n.attributes = append(n.attributes, a)
		}
		slices.SortFunc(n.attributes, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
		return Type{n}
	}
	return Type{} // any, and capsules, which no variable has
}

// Constraint returns the type and its defaults for OpenTofu's own conversion.
func (t Type) Constraint() (cty.Type, *typeexpr.Defaults) {
	switch t.Kind() {
	case String:
		return cty.String, nil
	case Number:
		return cty.Number, nil
	case Bool:
		return cty.Bool, nil
	case List, Set, Map:
		return t.collection()
	case Tuple:
		types, children := make([]cty.Type, len(t.elements)), map[string]*typeexpr.Defaults{}
		for i, element := range t.elements {
			ty, d := element.Constraint()
			if types[i] = ty; d != nil {
				children[digits(i)] = d
			}
		}
		return withDefaults(cty.Tuple(types), nil, children)
	case Object:
		return t.object()
	}
	return cty.DynamicPseudoType, nil
}

func (t Type) collection() (cty.Type, *typeexpr.Defaults) {
	element, defaults := t.Element().Constraint()
	children := map[string]*typeexpr.Defaults{}
	if defaults != nil {
		children[""] = defaults
	}
	of := map[Kind]func(cty.Type) cty.Type{List: cty.List, Set: cty.Set, Map: cty.Map}[t.kind]
	return withDefaults(of(element), nil, children)
}

func (t Type) object() (cty.Type, *typeexpr.Defaults) {
	types, children, values := map[string]cty.Type{}, map[string]*typeexpr.Defaults{}, map[string]cty.Value{}
	var optional []string
	for _, a := range t.attributes {
		ty, d := a.Type.Constraint()
		if types[a.Name] = ty; d != nil {
			children[a.Name] = d
		}
		if a.Optional {
			optional = append(optional, a.Name)
		}
		if a.Default != cty.NilVal {
			values[a.Name] = a.Default
		}
	}
	return withDefaults(cty.ObjectWithOptionalAttrs(types, optional), values, children)
}

func withDefaults(ty cty.Type, values map[string]cty.Value, children map[string]*typeexpr.Defaults) (cty.Type, *typeexpr.Defaults) {
	if len(values) == 0 && len(children) == 0 {
		return ty, nil
	}
	return ty, &typeexpr.Defaults{Type: ty, DefaultValues: values, Children: children}
}
