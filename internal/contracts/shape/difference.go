// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"fmt"

	"github.com/zclconf/go-cty/cty/convert"

	"github.com/yuba-dev/yuba/internal/contracts/paths"
)

// Why is the kind of a difference.
type Why string

// The kinds of differences.
const (
	// Missing: an attribute is required and is not part of the given type.
	Missing Why = "missing"
	// Nullable: an attribute may be null or left out, and is required.
	Nullable Why = "nullable"
	// Retyped: some values do not convert.
	Retyped Why = "type"
	// Length: a tuple has another number of elements.
	Length Why = "length"
)

// Difference is a part of a type of which some values do not fit another type.
type Difference struct {
	Path paths.Path
	Why  Why
	// Given and Wanted name the types, or their lengths; Given is empty if there is none.
	Given, Wanted string
}

// In says what differs, with the path behind a root: base.subnets[*].id is missing (string).
func (d Difference) In(root string) string {
	path := d.Path.In(root)
	switch d.Why {
	case Missing:
		return fmt.Sprintf("%s is missing (%s)", path, d.Wanted)
	case Nullable:
		return fmt.Sprintf("%s may be null, and is required", path)
	case Length:
		return fmt.Sprintf("%s has %s elements, not %s", path, d.Given, d.Wanted)
	}
	return fmt.Sprintf("%s is %s, not %s", path, d.Given, d.Wanted)
}

// Fits returns why some delivered values of a type do not fit another one; none if all do.
func Fits(given, wanted Type) []Difference { return (&comparison{}).compare(given, wanted) }

// FitsWritten is Fits for written values, in which attributes with a default may be missing, too.
func FitsWritten(given, wanted Type) []Difference {
	return (&comparison{written: true}).compare(given, wanted)
}

type comparison struct {
	// written is set if the given values are written ones.
	written bool
	// promised is set if the wanted type is what readers were promised, not what they declare: none
	// of its attributes may go, and those with a default are never null.
	promised bool
	found    []Difference
}

func (c *comparison) compare(given, wanted Type) []Difference {
	c.types(given, wanted, nil)
	return c.found
}

func (c *comparison) add(at paths.Path, why Why, given, wanted string) {
	c.found = append(c.found, Difference{at, why, given, wanted})
}

func (c *comparison) retyped(given, wanted Type, at paths.Path) {
	c.add(at, Retyped, given.brief(), wanted.brief())
}

func (c *comparison) types(given, wanted Type, at paths.Path) {
	g, w := given.Kind(), wanted.Kind()
	switch {
	case w == Any:
		return
	case w == String && g.IsPrimitive(), w.IsPrimitive() && g == w:
		return
	case w == List && (g == List || g == Set), w == Set && (g == List || g == Set), w == Map && g == Map:
		c.types(given.Element(), wanted.Element(), at.Each())
	case (w == List || w == Set) && g == Tuple:
		c.elements(given, wanted, at)
	case w == Map && g == Object:
		c.entries(given, wanted, at)
	case w == Tuple && g == Tuple:
		if len(given.elements) != len(wanted.elements) {
			c.add(at, Length, digits(len(given.elements)), digits(len(wanted.elements)))
			return
		}
		for i, element := range given.elements {
			c.types(element, wanted.elements[i], at.Element(i))
		}
	case w == Object && g == Object:
		c.attributes(given, wanted, at)
	default:
		c.retyped(given, wanted, at)
	}
}

func (c *comparison) elements(given, wanted Type, at paths.Path) {
	before := len(c.found)
	for i, element := range given.elements {
		c.types(element, wanted.Element(), at.Element(i))
	}
	c.unified(given, wanted, at, before)
}

// entries compares an object with a map. OpenTofu has no null in a map where we promise a value.
func (c *comparison) entries(given, wanted Type, at paths.Path) {
	before := len(c.found)
	for _, a := range given.attributes {
		if c.absent(a) {
			c.add(at.Attribute(a.Name), Nullable, "", "")
		}
		c.types(a.Type, wanted.Element(), at.Attribute(a.Name))
	}
	c.unified(given, wanted, at, before)
}

// unified reports parts that do not have one common type, as a list or map of any wants.
func (c *comparison) unified(given, wanted Type, at paths.Path, before int) {
	if len(c.found) > before || !wanted.hasAny() {
		return
	}
	from, _ := given.Constraint()
	to, _ := wanted.Constraint()
	from = from.WithoutOptionalAttributesDeep()
	// Two parts of type any can be of two types.
	apart := given.hasAny() && len(given.elements)+len(given.attributes) > 1
	if apart || convert.GetConversion(from, to) == nil && !from.Equals(to) {
		c.retyped(given, wanted, at)
	}
}

func (t Type) hasAny() bool {
	if t.Kind() == Any {
		return true
	}
	for _, element := range t.elements {
		if element.hasAny() {
			return true
		}
	}
	for _, a := range t.attributes {
		if a.Type.hasAny() {
			return true
		}
	}
	return false
}

func (c *comparison) absent(a Attribute) bool {
	if c.written {
		return a.Optional
	}
	return a.MayBeNull()
}

// required reports whether an attribute of the wanted type is never null.
func (c *comparison) required(a Attribute) bool {
	if c.promised {
		return !a.MayBeNull()
	}
	return !a.Optional
}

func (c *comparison) attributes(given, wanted Type, at paths.Path) {
	for _, w := range wanted.attributes {
		g, found := given.Attribute(w.Name)
		here := at.Attribute(w.Name)
		switch {
		case !found && w.Optional && !c.promised:
			continue
		case !found:
			c.add(here, Missing, "", w.Type.brief())
			continue
		case c.absent(g) && c.required(w):
			c.add(here, Nullable, "", "")
		}
		c.types(g.Type, w.Type, here)
	}
}
