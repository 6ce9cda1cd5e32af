// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"errors"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
)

// Result is how an output relates to a contract.
type Result struct {
	// Breaks are the parts that do not fit, Unknown those that may or may not.
	Breaks, Unknown []Finding
	// Extra are the attributes that the contract does not have, and which are dropped.
	Extra []paths.Path
	// Value is the value as it is delivered; cty.NilVal if the output breaks the contract.
	Value cty.Value
}

// Outcome sums the result up.
func (r Result) Outcome() Outcome {
	switch {
	case len(r.Breaks) > 0:
		return Breaks
	case len(r.Unknown) > 0:
		return Unknown
	}
	return Fits
}

// Check checks a planned or published output against a contract's type. private is the part of it
// that is private.
func Check(of shape.Type, private paths.Set, output document.Output) Result {
	if output.Gone {
		return Result{Breaks: []Finding{{Why: Gone, Wanted: of.Kind().String(), Count: 1}}}
	}
	c := &check{}
	value, _ := output.Value.UnmarkDeep()
	c.value(of, value, nil)
	if output.Sensitive && private.IsEmpty() {
		c.breaks.add(Finding{Why: Exposed})
	}
	r := Result{Breaks: c.breaks.list, Unknown: c.unknown.list, Extra: c.extra}
	if len(r.Breaks) > 0 {
		return r
	}
	var err error
	if r.Value, err = deliver(of, value); err != nil {
		// Only where the type has any: the parts together do not have one type.
		r.Value = cty.NilVal
		r.Breaks = []Finding{{Path: pathOf(err), Why: OtherType, Wanted: of.String(), Got: "a collection of several types", Count: 1}}
	}
	return r
}

// deliver returns a value that fits as it is delivered: with defaults, and without extra attributes.
func deliver(of shape.Type, value cty.Value) (cty.Value, error) {
	ty, defaults := of.Constraint()
	if defaults != nil && !value.IsNull() && value.IsKnown() {
		value = defaults.Apply(value)
	}
	return convert.Convert(value, ty)
}

// pathOf returns where a conversion failed.
func pathOf(err error) paths.Path {
	var at cty.PathError
	if !errors.As(err, &at) {
		return nil
	}
	var p paths.Path
	for _, step := range at.Path {
		switch s := step.(type) {
		case cty.GetAttrStep:
			p = p.Attribute(s.Name)
		case cty.IndexStep:
			switch key := s.Key; {
			case !key.IsKnown() || key.IsNull():
				return p
			case key.Type() == cty.String:
				p = p.Attribute(key.AsString())
			case key.Type() == cty.Number:
				i, _ := key.AsBigFloat().Int64()
				p = p.Element(int(i))
			default:
				return p
			}
		}
	}
	return p
}

type check struct {
	breaks, unknown findings
	extra           []paths.Path
}

// maxExtra limits what is listed as dropped.
const maxExtra = 100

func (c *check) other(of shape.Type, v cty.Value, at paths.Path) {
	c.breaks.add(Finding{Path: at, Why: OtherType, Wanted: of.Kind().String(), Got: kindOf(v.Type())})
}

// value checks a value that must not be null.
func (c *check) value(of shape.Type, v cty.Value, at paths.Path) {
	ty := v.Type()
	switch {
	case !v.IsKnown():
		if ty != cty.DynamicPseudoType && !possible(of, ty) {
			c.other(of, v, at)
			return
		}
		c.unknown.add(Finding{Path: at, Why: NotYet, Wanted: of.Kind().String()})
		return
	case v.IsNull():
		c.breaks.add(Finding{Path: at, Why: Null, Wanted: of.Kind().String()})
		return
	}
	switch k := of.Kind(); {
	case k == shape.Any:
		if !v.IsWhollyKnown() {
			c.unknown.add(Finding{Path: at, Why: NotYet, Wanted: k.String()})
		}
	case k.IsPrimitive():
		if !possible(of, ty) {
			c.other(of, v, at)
		}
	case k == shape.Object:
		c.object(of, v, at)
	case k == shape.Map:
		if !ty.IsMapType() && !ty.IsObjectType() {
			c.other(of, v, at)
			return
		}
		for it := v.ElementIterator(); it.Next(); {
			key, element := it.Element()
			c.value(of.Element(), element, at.Attribute(key.AsString()))
		}
	default:
		c.sequence(of, v, at)
	}
}

func (c *check) object(of shape.Type, v cty.Value, at paths.Path) {
	if !v.Type().IsObjectType() {
		c.other(of, v, at)
		return
	}
	members := v.AsValueMap()
	for _, a := range of.Attributes() {
		here := at.Attribute(a.Name)
		member, found := members[a.Name]
		switch {
		case !found && !a.Optional:
			c.breaks.add(Finding{Path: here, Why: Missing, Wanted: a.Type.Kind().String()})
		case !found, a.Optional && member.IsNull():
		default:
			c.value(a.Type, member, here)
		}
	}
	for name := range v.Type().AttributeTypes() {
		if _, found := of.Attribute(name); !found && len(c.extra) < maxExtra {
			c.extra = append(c.extra, at.Attribute(name))
		}
	}
}

func (c *check) sequence(of shape.Type, v cty.Value, at paths.Path) {
	ty := v.Type()
	isSequence := ty.IsListType() || ty.IsSetType() || ty.IsTupleType()
	// OpenTofu never makes a tuple of a list; in JSON a tuple is a list, and read as a tuple.
	if !isSequence || of.Kind() == shape.Tuple && !ty.IsTupleType() {
		c.other(of, v, at)
		return
	}
	elements := v.AsValueSlice()
	tuple := of.Elements()
	if of.Kind() == shape.Tuple && len(elements) != len(tuple) {
		c.breaks.add(Finding{Path: at, Why: Length, Wanted: strconv.Itoa(len(tuple)), Got: strconv.Itoa(len(elements))})
		return
	}
	for i, element := range elements {
		inner := of.Element()
		if of.Kind() == shape.Tuple {
			inner = tuple[i]
		}
		here := at.Element(i)
		if of.Kind() == shape.Set { // its elements have no index
			here = at.Each()
		}
		c.value(inner, element, here)
	}
}

// possible reports whether values of a type convert: all for primitive types, and some for others.
func possible(of shape.Type, ty cty.Type) bool {
	switch k := of.Kind(); {
	case k == shape.Any:
		return true
	case k == shape.String:
		return ty.IsPrimitiveType()
	case k == shape.Number:
		return ty == cty.Number
	case k == shape.Bool:
		return ty == cty.Bool
	case k == shape.Object:
		return ty.IsObjectType()
	case k == shape.Map:
		return ty.IsMapType() || ty.IsObjectType()
	}
	return ty.IsListType() || ty.IsSetType() || ty.IsTupleType()
}

// kindOf names the type of a value. A user knows lists, and not OpenTofu's tuples.
func kindOf(ty cty.Type) string {
	switch k := shape.Of(ty, nil).Kind(); k {
	case shape.Tuple:
		return "list"
	default:
		return k.String()
	}
}
