// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import "github.com/yuba-dev/yuba/internal/contracts/paths"

// Variable is the variable of a consumer.
type Variable struct {
	Type Type
	// Nullable and HasDefault say whether the variable accepts null: either it is, or it has a
	// default that replaces it.
	Nullable, HasDefault bool
	// Secret is set for sensitive and ephemeral variables.
	Secret bool
}

// AcceptsNull reports whether OpenTofu accepts null for the variable.
func (v Variable) AcceptsNull() bool { return v.Nullable || v.HasDefault }

// Reads returns the part of a contract's value that a variable takes: everything, if its type is any.
// Where the variable does not fit the contract, the set is what it would read.
func Reads(contract, variable Type) paths.Set {
	var list []paths.Path
	reads(contract, variable, nil, &list)
	return paths.Of(list...)
}

func reads(contract, variable Type, at paths.Path, out *[]paths.Path) {
	switch v := variable.Kind(); {
	case v == Object && contract.Kind() == Object:
		for _, a := range variable.attributes {
			if inner, found := contract.Attribute(a.Name); found {
				reads(inner.Type, a.Type, at.Attribute(a.Name), out)
			}
		}
	case v == Map && contract.Kind() == Map, (v == List || v == Set) && (contract.Kind() == List || contract.Kind() == Set):
		before := len(*out)
		reads(contract.Element(), variable.Element(), at.Each(), out)
		if len(*out) == before { // of each element nothing; still, their number
			*out = append(*out, at.Each())
		}
	default:
		*out = append(*out, at)
	}
}
