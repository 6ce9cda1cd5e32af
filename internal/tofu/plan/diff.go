// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// differ writes the difference of two values, one indented line for each part. A nil value is
// absent.
type differ struct {
	painter
	written  []Line
	replaces [][]any
	// all also writes what does not change.
	all bool
	// forcing is true if the next line forces a replacement.
	forcing bool
}

// op is the sign at the beginning of a line.
type op = Sign

const (
	same    = Same
	added   = Added
	removed = Removed
	changed = Changed
)

var opColors = map[op]string{added: greenCode, removed: redCode, changed: yellowCode}

func (d *differ) sign(o op) string { return d.paint(string(o), opColors[o]) }

func (d *differ) line(indent string, o op, text string) {
	d.written = append(d.written, Line{Indent: len(indent), Sign: o, Text: text, Forces: d.forcing})
	d.forcing = false
}

// String is the text of all lines.
func (d *differ) String() string {
	var b strings.Builder
	for _, l := range d.written {
		b.WriteString(strings.TrimRight(strings.Repeat(" ", l.Indent)+d.sign(l.Sign)+" "+l.Text, " ") + "\n")
	}
	return b.String()
}

// attributes writes a whole object: both sides, or one that is added or removed. Null attributes
// count as absent.
func (d *differ) attributes(before, after *Value, indent string) {
	d.members(present(before), present(after), indent, []any{})
}

// unchanged writes an unchanged object.
func (d *differ) unchanged(v *Value, indent string) {
	members := present(v)
	width := widest(members)
	for _, name := range keys(members) {
		d.whole(same, fmt.Sprintf("%-*s = ", width, key(name)), members[name], indent, "")
	}
}

// widest returns the width of the longest key, for alignment.
func widest(object map[string]Value) int {
	width := 0
	for name := range object {
		width = max(width, len([]rune(key(name))))
	}
	return width
}

func present(v *Value) map[string]Value {
	out := map[string]Value{}
	if v != nil {
		for key, value := range v.object {
			if value.kind != Null {
				out[key] = value
			}
		}
	}
	return out
}

// members writes the members of two objects. Equal ones are only counted, except those that
// identify the object.
func (d *differ) members(before, after map[string]Value, indent string, path []any) {
	both := maps.Clone(before)
	maps.Copy(both, after)
	var shown []string
	width, hidden := 0, 0
	for _, name := range keys(both) {
		b, inBefore := before[name]
		a, inAfter := after[name]
		if !d.all && inBefore && inAfter && b.Equal(a) && !(len(path) == 0 && path != nil && (name == "id" || name == "name")) {
			hidden++
			continue
		}
		shown = append(shown, name)
		width = max(width, len([]rune(key(name))))
	}
	for _, name := range shown {
		head := fmt.Sprintf("%-*s = ", width, key(name))
		d.pair(head, pointer(before, name), pointer(after, name), indent, within(path, name), "")
	}
	d.hidden(&hidden, "attribute", indent)
}

// hidden writes the number of unchanged items since the last shown one, and resets it.
func (d *differ) hidden(n *int, what, indent string) {
	if *n > 1 {
		what += "s"
	}
	if *n > 0 {
		d.line(indent, same, d.paint(fmt.Sprintf("# (%d unchanged %s hidden)", *n, what), dimCode))
		d.written[len(d.written)-1].Note = true
	}
	*n = 0
}

func pointer(object map[string]Value, name string) *Value {
	if v, ok := object[name]; ok {
		return &v
	}
	return nil
}

func within(path []any, step any) []any { return append(path[:len(path):len(path)], step) }

// pair writes one item. head is the beginning of its first line, tail the end of its last one.
func (d *differ) pair(head string, before, after *Value, indent string, path []any, tail string) {
	force := d.force(path)
	d.forcing = force != "" && after != nil
	switch {
	case before == nil:
		d.whole(added, head, *after, indent, tail+force)
	case after == nil:
		d.whole(removed, head, *before, indent, tail)
	case before.Equal(*after):
		d.whole(same, head, *after, indent, tail)
	case before.kind == Object && after.kind == Object:
		d.line(indent, changed, head+"{"+force)
		d.members(before.object, after.object, indent+"    ", path)
		d.line(indent, same, "}"+tail)
	case before.kind == List && after.kind == List:
		d.line(indent, changed, head+"["+force)
		d.elements(before.list, after.list, indent+"    ", path)
		d.line(indent, same, "]"+tail)
	case before.kind == Text && after.kind == Text:
		d.texts(head, before.text, after.text, indent, path, tail, force)
	case d.long(*before):
		d.block(changed, removed, head, *before, indent, " -> "+d.short(*after)+tail+force)
	case d.long(*after):
		d.block(changed, added, head+d.short(*before)+" -> ", *after, indent, tail+force)
	default:
		d.line(indent, changed, head+d.short(*before)+" -> "+d.short(*after)+tail+force)
	}
}

// long reports whether a value needs more than one line.
func (d *differ) long(v Value) bool {
	if v.kind == Text {
		_, isDocument := document(v.text)
		return isDocument || multiline(v.text)
	}
	return len(v.list)+len(v.object) > 0
}

// force marks paths that force a replacement.
func (d *differ) force(path []any) string {
	for _, forcing := range d.replaces {
		if len(forcing) != len(path) || len(path) == 0 {
			continue
		}
		equal := true
		for i := range path {
			equal = equal && fmt.Sprint(path[i]) == fmt.Sprint(forcing[i])
		}
		if equal {
			return d.paint(" # forces replacement", redCode)
		}
	}
	return ""
}

// whole writes a value that is added, removed or unchanged as a whole.
func (d *differ) whole(o op, head string, v Value, indent, tail string) {
	d.block(o, o, head, v, indent, tail)
}

// block is whole with another sign on the first line.
func (d *differ) block(first, o op, head string, v Value, indent, tail string) {
	switch {
	case v.kind == Object && len(v.object) > 0:
		d.line(indent, first, head+"{")
		width := widest(v.object)
		for _, name := range keys(v.object) {
			d.whole(o, fmt.Sprintf("%-*s = ", width, key(name)), v.object[name], indent+"    ", "")
		}
		d.line(indent, same, "}"+tail)
	case v.kind == List && len(v.list) > 0:
		d.line(indent, first, head+"[")
		for _, element := range v.list {
			d.whole(o, "", element, indent+"    ", ",")
		}
		d.line(indent, same, "]"+tail)
	case v.kind == Text && multiline(v.text):
		d.line(indent, first, head+"<<-EOT")
		for _, line := range textLines(v.text) {
			d.line(indent+"    ", o, diagnostic.Printable(line))
		}
		d.line(indent, same, "EOT"+tail)
	case v.kind == Text:
		if inner, ok := document(v.text); ok {
			d.line(indent, first, head+"jsonencode(")
			d.whole(o, "", inner, indent+"    ", "")
			d.line(indent, same, ")"+tail)
			return
		}
		d.line(indent, first, head+quote(v.text)+tail)
	default:
		d.line(indent, first, head+d.short(v)+tail)
	}
}

// short formats a value on one line.
func (d *differ) short(v Value) string {
	switch v.kind {
	case Unknown:
		return unknownMark
	case Sensitive:
		return SensitiveMark
	case Text:
		return quote(v.text)
	case Bool, Number:
		return v.text
	case List:
		return "[]"
	case Object:
		return "{}"
	}
	return "null"
}

// document parses a text that is a JSON object or list, such as a policy.
func document(text string) (Value, bool) {
	if trimmed := strings.TrimSpace(text); len(trimmed) < 3 || trimmed[0] != '{' && trimmed[0] != '[' {
		return Value{}, false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var tree any
	if decoder.Decode(&tree) != nil || decoder.More() {
		return Value{}, false
	}
	return plainTree(tree), true
}

// plainTree converts JSON without marks to a value.
func plainTree(tree any) Value {
	switch t := tree.(type) {
	case []any:
		v := Value{kind: List}
		for _, element := range t {
			v.list = append(v.list, plainTree(element))
		}
		return v
	case map[string]any:
		v := Value{kind: Object, object: map[string]Value{}}
		for name, element := range t {
			v.object[name] = plainTree(element)
		}
		return v
	}
	return scalar(tree)
}
