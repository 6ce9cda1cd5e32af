// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

func digits(i int) string { return strconv.Itoa(i) }

// String returns the canonical text of the type.
func (t Type) String() string {
	var b strings.Builder
	t.write(&b)
	return b.String()
}

func (t Type) write(b *strings.Builder) {
	b.WriteString(t.Kind().String())
	switch t.Kind() {
	case List, Set, Map:
		b.WriteByte('(')
		t.Element().write(b)
		b.WriteByte(')')
	case Tuple:
		b.WriteString("([")
		for i, element := range t.elements {
			if i > 0 {
				b.WriteString(", ")
			}
			element.write(b)
		}
		b.WriteString("])")
	case Object:
		b.WriteString("({")
		for i, a := range t.forLast() {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(a.Name)
			b.WriteString(" = ")
			a.write(b)
		}
		b.WriteString("})")
	}
}

// forLast returns the attributes, with one named for at the end: in front it would begin a for
// expression.
func (t Type) forLast() []Attribute {
	if len(t.attributes) < 2 || t.attributes[0].Name != "for" {
		return t.attributes
	}
	return append(slices.Clone(t.attributes[1:]), t.attributes[0])
}

func (a Attribute) write(b *strings.Builder) {
	if !a.Optional {
		a.Type.write(b)
		return
	}
	b.WriteString("optional(")
	a.Type.write(b)
	if a.Default != cty.NilVal {
		b.WriteString(", ")
		writeValue(b, a.Default)
	}
	b.WriteByte(')')
}

// writeValue writes a default as an expression of OpenTofu, on one line.
func writeValue(b *strings.Builder, v cty.Value) {
	switch ty := v.Type(); {
	case v.IsNull():
		b.WriteString("null")
	case ty == cty.String:
		writeString(b, v.AsString())
	case ty == cty.Bool:
		b.WriteString(strconv.FormatBool(v.True()))
	case ty == cty.Number:
		b.WriteString(v.AsBigFloat().Text('f', -1))
	case ty.IsObjectType(), ty.IsMapType():
		b.WriteByte('{')
		separator := ""
		for it := v.ElementIterator(); it.Next(); separator = ", " {
			key, element := it.Element()
			b.WriteString(separator)
			if name := key.AsString(); hclsyntax.ValidIdentifier(name) && name != "for" {
				b.WriteString(name)
			} else {
				writeString(b, name)
			}
			b.WriteString(" = ")
			writeValue(b, element)
		}
		b.WriteByte('}')
	default:
		b.WriteByte('[')
		separator := ""
		for it := v.ElementIterator(); it.Next(); separator = ", " {
			_, element := it.Element()
			b.WriteString(separator)
			writeValue(b, element)
		}
		b.WriteByte(']')
	}
}

func writeString(b *strings.Builder, s string) {
	b.Write(hclwrite.TokensForValue(cty.StringVal(s)).Bytes())
}

// brief names a type in a message: large types by their kind.
func (t Type) brief() string {
	if text := t.String(); len(text) <= 60 {
		return text
	}
	switch k := t.Kind(); k {
	case List, Set, Map:
		return k.String() + "(" + t.Element().Kind().String() + ")"
	default:
		return k.String()
	}
}
