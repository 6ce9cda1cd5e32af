// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package variables

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// fits reports why some value of a field's schema is not a value of a type. tofu converts numbers
// and booleans to strings, lists to sets, and objects to maps.
func (c *checker) fits(p *part, t cty.Type, v *module.Variable) {
	switch {
	case t == cty.DynamicPseudoType:
	case p.schema.XIntOrString:
		c.intOrString(p, t, v)
	case p.schema.Type == "":
		// The schema does not describe the value: the run checks it.
	case p.schema.Type == "array":
		c.array(p, t, v)
	case p.schema.Type == "object":
		c.object(p, t, v)
	default:
		c.scalar(p, t, v)
	}
}

func (c *checker) differs(p *part, t cty.Type, v *module.Variable, kind string) {
	c.add(finding.Error, fieldOf(p.path), v, "change the type of the field or of the variable",
		"its schema has %s, and the variable %q wants %s", kind, v.Name, article(t))
}

func article(t cty.Type) string {
	if t.IsObjectType() {
		return "an object with the attributes " + strings.Join(slices.Sorted(maps.Keys(t.AttributeTypes())), ", ")
	}
	return shorten.CutBytes(typeexpr.TypeString(t), maxShown)
}

func (c *checker) intOrString(p *part, t cty.Type, v *module.Variable) {
	switch t {
	case cty.String:
	case cty.Number:
		c.add(finding.Warning, fieldOf(p.path), v, "give the field the type integer", "a text that is not a number fails in the run, because the variable %q is a number", v.Name)
	default:
		c.differs(p, t, v, "an integer or a string")
	}
}

// scalars are the types that each kind of the schema converts to.
var scalars = map[string][]cty.Type{
	"string": {cty.String}, "integer": {cty.Number, cty.String}, "number": {cty.Number, cty.String}, "boolean": {cty.Bool, cty.String},
}

func (c *checker) scalar(p *part, t cty.Type, v *module.Variable) {
	if slices.Contains(scalars[p.schema.Type], t) || converts(p.schema, t) {
		return
	}
	kind := "a " + p.schema.Type
	if p.schema.Type == "integer" {
		kind = "an integer"
	}
	c.differs(p, t, v, kind)
}

// converts reports whether all values of an enum convert to the type.
func converts(p *props, t cty.Type) bool {
	for _, item := range p.Enum {
		var value ctyjson.SimpleJSONValue
		if json.Unmarshal(item.Raw, &value) != nil {
			return false
		}
		if _, err := convert.Convert(value.Value, t); err != nil {
			return false
		}
	}
	return len(p.Enum) > 0
}

func (c *checker) array(p *part, t cty.Type, v *module.Variable) {
	switch {
	case t.IsListType() || t.IsSetType():
		if p.element != nil {
			c.fits(p.element, t.ElementType(), v)
		}
	case t.IsTupleType():
		n := int64(t.Length())
		if p.schema.MinItems == nil || p.schema.MaxItems == nil || *p.schema.MinItems != n || *p.schema.MaxItems != n {
			c.add(finding.Error, fieldOf(p.path), v, "set minItems and maxItems, or make the variable a list",
				"the variable %q wants exactly %d elements", v.Name, n)
			return
		}
		for _, inner := range t.TupleElementTypes() {
			if p.element != nil {
				c.fits(p.element, inner, v)
			}
		}
	default:
		c.differs(p, t, v, "a list")
	}
}

func (c *checker) object(p *part, t cty.Type, v *module.Variable) {
	switch {
	case t.IsMapType():
		for _, field := range p.sorted() {
			c.fits(field, t.ElementType(), v)
		}
		if p.element != nil {
			c.fits(p.element, t.ElementType(), v)
		}
	case t.IsObjectType():
		c.attributes(p, t, v)
	default:
		c.differs(p, t, v, "an object")
	}
}

// attributes compares the fields of an object with the attributes that the module wants.
func (c *checker) attributes(p *part, t cty.Type, v *module.Variable) {
	byName := map[string]*part{}
	for _, field := range p.sorted() {
		byName[field.name] = field
		if !t.HasAttribute(field.name) {
			c.add(finding.Error, fieldOf(field.path), v, c.attribute(field, t), "the object of the variable %q has no attribute %q, so the value would be lost", v.Name, field.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.AttributeTypes())) {
		field := byName[name]
		switch {
		case field == nil && (t.AttributeOptional(name) || p.element == nil && open(p.schema)):
		case field == nil && p.element != nil:
			c.add(finding.Error, fieldOf(p.path), v, "declare it as a field of the object, or make the variable a map",
				"the variable %q wants the attribute %q, and the keys of a map are not known", v.Name, name)
		case field == nil:
			c.add(finding.Error, fieldOf(p.path), v, "add a field to the schema, or make the attribute optional()",
				"the variable %q wants the attribute %q, and no field becomes it", v.Name, name)
		default:
			if !field.there && !t.AttributeOptional(name) {
				c.add(finding.Error, fieldOf(field.path), v, "make the field required or give it a default, or make the attribute optional()",
					"instances may leave the field out, and the variable %q wants the attribute %q", v.Name, name)
			}
			c.fits(field, t.AttributeType(name), v)
		}
	}
}

func (c *checker) attribute(field *part, t cty.Type) string {
	names := slices.Sorted(maps.Keys(t.AttributeTypes()))
	return override(field.path) + ", or add it to the variable; it has " + shorten.CutBytes(strings.Join(names, ", "), maxShown)
}
