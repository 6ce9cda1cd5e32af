// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/contracts/paths"
)

// Project returns the part of a value that a set of paths covers. Objects and maps keep the named
// members, and lists their elements' positions: elements that are not read become null, and those
// behind the last index that is read are cut off. [*] keeps the number of elements.
//
// The result consists of objects and tuples, which OpenTofu converts to the variable's type.
func Project(v cty.Value, part paths.Set) cty.Value {
	if part.IsAll() {
		v, _ = v.UnmarkDeep()
		return v
	}
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return v
	}
	switch ty := v.Type(); {
	case ty.IsObjectType(), ty.IsMapType():
		members := map[string]cty.Value{}
		for _, name := range covered(v, part) {
			members[name] = Project(member(v, name), part.Attribute(name))
		}
		return cty.ObjectVal(members)
	case ty.IsListType(), ty.IsTupleType(), ty.IsSetType():
		elements := []cty.Value{}
		for i, element := range v.AsValueSlice() {
			inner := part.Element(i)
			switch {
			case !inner.IsEmpty():
				elements = append(elements, Project(element, inner))
			case i <= part.MaxIndex():
				elements = append(elements, cty.NullVal(cty.DynamicPseudoType))
			}
		}
		return cty.TupleVal(elements)
	}
	return v
}

// covered returns the names of the members of an object or map of which the set has something.
func covered(v cty.Value, part paths.Set) []string {
	if !part.HasEach() { // fewer names than members
		return slices.DeleteFunc(part.Names(), func(name string) bool { return !has(v, name) })
	}
	var names []string
	if ty := v.Type(); ty.IsObjectType() {
		for name := range ty.AttributeTypes() {
			names = append(names, name)
		}
		return names
	}
	for it := v.ElementIterator(); it.Next(); {
		key, _ := it.Element()
		names = append(names, key.AsString())
	}
	return names
}

func has(v cty.Value, name string) bool {
	if v.Type().IsObjectType() {
		return v.Type().HasAttribute(name)
	}
	return v.HasIndex(cty.StringVal(name)).True()
}

// member returns a member that the value has.
func member(v cty.Value, name string) cty.Value {
	if v.Type().IsObjectType() {
		return v.GetAttr(name)
	}
	return v.Index(cty.StringVal(name))
}

// Known reports whether all of a part of a value is known.
func Known(v cty.Value, part paths.Set) bool {
	return part.IsEmpty() || Project(v, part).IsWhollyKnown()
}
