// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package publishmodule

import (
	"fmt"
	"strconv"

	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// guard refuses null at a path.
type guard struct{ path, condition, of string }

// place is a part of the value that is not null, and how to say something about it.
type place struct {
	text string
	path paths.Path
	// all makes a condition about the part one about the whole value.
	all   func(condition string) string
	depth int
}

func guardsOf(t shape.Type) []guard {
	var all []guard
	visit(t, place{text: value, all: func(condition string) string { return condition }}, &all)
	return all
}

// visit adds the guards of a part.
func visit(t shape.Type, at place, out *[]guard) {
	switch t.Kind() {
	case shape.Object:
		for _, a := range t.Attributes() {
			inner := at
			inner.text, inner.path = at.text+"."+a.Name, at.path.Attribute(a.Name)
			below(a.Type, inner, !a.Optional, out) // OpenTofu replaces null by a default
		}
	case shape.Tuple:
		for i, of := range t.Elements() {
			inner := at
			inner.text, inner.path = at.text+"["+strconv.Itoa(i)+"]", at.path.Element(i)
			below(of, inner, true, out)
		}
	case shape.List, shape.Set, shape.Map:
		name := "v" + strconv.Itoa(at.depth+1)
		inner := place{text: name, path: at.path.Each(), depth: at.depth + 1, all: func(condition string) string {
			return at.all(fmt.Sprintf("alltrue([for %s in %s : %s])", name, at.text, condition))
		}}
		below(t.Element(), inner, true, out)
	}
}

// below adds the guard of a part, and those of its own parts, which are not evaluated if it is null.
func below(t shape.Type, at place, required bool, out *[]guard) {
	if required {
		*out = append(*out, guard{path: at.path.In("value"), condition: at.all(at.text + " != null"), of: shorten.Cut(t.String(), 60)})
	}
	inner := at
	inner.all = func(condition string) string {
		return at.all(fmt.Sprintf("%s == null ? true : %s", at.text, condition))
	}
	visit(t, inner, out)
}
