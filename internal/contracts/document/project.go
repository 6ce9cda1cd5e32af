// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/contracts/paths"
)

// Project returns the part of a value that a set of paths covers. Objects and maps keep the named
// members, and lists their elements' positions: elements that are not read become null, and those
// behind the last index that is read are cut off. [*] keeps the number of elements.
//
// The result consists of objects and tuples, which OpenTofu converts to the variable's type.
func Project(v cty.Value, part paths.Set) cty.Value {
	v, _ = v.UnmarkDeep()
	return project(v, part)
}

func project(v cty.Value, part paths.Set) cty.Value {
	if part.IsAll() || v.IsNull() || !v.IsKnown() {
		return v
	}
	switch ty := v.Type(); {
	case ty.IsObjectType(), ty.IsMapType():
		members := map[string]cty.Value{}
		for name, member := range v.AsValueMap() {
			if inner := part.Attribute(name); !inner.IsEmpty() {
				members[name] = project(member, inner)
			}
		}
		return cty.ObjectVal(members)
	case ty.IsListType(), ty.IsTupleType(), ty.IsSetType():
		elements := []cty.Value{}
		for i, element := range v.AsValueSlice() {
			inner := part.Element(i)
			switch {
			case !inner.IsEmpty():
				elements = append(elements, project(element, inner))
			case i <= part.MaxIndex():
				elements = append(elements, cty.NullVal(cty.DynamicPseudoType))
			}
		}
		return cty.TupleVal(elements)
	}
	return v
}

// Known reports whether all of a part of a value is known.
func Known(v cty.Value, part paths.Set) bool {
	return part.IsEmpty() || Project(v, part).IsWhollyKnown()
}

// Part returns the digest of the part of a value that a set of paths covers.
func Part(v cty.Value, part paths.Set) (string, error) { return Digest(Project(v, part)) }
