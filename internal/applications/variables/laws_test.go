// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package variables

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yuba-dev/yuba/internal/applications/schema"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// names collide often when they are written in snake case or joined.
var names = []string{"a", "aB", "a_b", "ab", "b", "bC", "b_c", "c", "aBC", "a_b_c", "cD"}

// randomObject is the schema of an object of some depth.
func randomObject(t *rapid.T, depth int) map[string]any {
	fields := map[string]any{}
	var required []string
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 4, rapid.ID[string]).Draw(t, "fields") {
		field := randomSchema(t, depth-1)
		fields[name] = field
		if rapid.Bool().Draw(t, "required") {
			required = append(required, name)
		}
	}
	o := map[string]any{"type": "object", "properties": fields}
	if required != nil {
		o["required"] = required
	}
	return o
}

func randomSchema(t *rapid.T, depth int) map[string]any {
	kind := rapid.SampledFrom([]string{"string", "integer", "boolean", "enum", "object", "map", "array"}).Draw(t, "kind")
	if depth <= 0 && slices.Contains([]string{"object", "map", "array"}, kind) {
		kind = "string"
	}
	switch kind {
	case "enum":
		return map[string]any{"type": "string", "enum": []any{"1", "2"}}
	case "object":
		return randomObject(t, depth)
	case "map":
		return map[string]any{"type": "object", "additionalProperties": randomSchema(t, depth-1)}
	case "array":
		return map[string]any{"type": "array", "items": randomSchema(t, depth-1)}
	}
	s := map[string]any{"type": kind}
	if rapid.IntRange(0, 3).Draw(t, "default") == 0 {
		s["default"] = map[string]any{"string": "d", "integer": 1, "boolean": true}[kind]
	}
	return s
}

func randomMapping(t *rapid.T) Mapping {
	m := Mapping{
		Naming:  rapid.SampledFrom([]string{"", CamelToSnake, AsIs}).Draw(t, "naming"),
		Nesting: rapid.SampledFrom([]string{"", Object, Flatten, Values}).Draw(t, "nesting"),
	}
	if rapid.IntRange(0, 3).Draw(t, "overridden") == 0 {
		m.Overrides = map[string]string{rapid.SampledFrom(names).Draw(t, "path"): rapid.SampledFrom(names).Draw(t, "name")}
	}
	return m
}

func build(t *rapid.T, o map[string]any) *schema.Schema {
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	s, list := schema.Parse(string(text))
	if s == nil {
		t.Fatalf("%s: %s", text, list)
	}
	return s
}

// filler makes specs whose leaves are all different.
type filler struct {
	leaves int
	// all is false if optional fields may be left out.
	leave func() bool
}

func (f *filler) fill(s map[string]any) any {
	f.leaves++
	switch s["type"] {
	case "object":
		o := map[string]any{}
		if fields, is := s["properties"].(map[string]any); is {
			f.leaves--
			required, _ := s["required"].([]string)
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				if slices.Contains(required, name) || !f.leave() {
					o[name] = f.fill(fields[name].(map[string]any))
				}
			}
			return o
		}
		f.leaves--
		o["k"] = f.fill(s["additionalProperties"].(map[string]any))
		return o
	case "array":
		f.leaves--
		return []any{f.fill(s["items"].(map[string]any))}
	case "integer":
		return int64(1000 + f.leaves)
	case "boolean":
		return true
	}
	if s["enum"] != nil {
		return "1"
	}
	return fmt.Sprintf("leaf-%d-", f.leaves)
}

func count(value any) int {
	switch value := value.(type) {
	case map[string]any:
		n := 0
		for _, inner := range value {
			n += count(inner)
		}
		return n
	case []any:
		n := 0
		for _, inner := range value {
			n += count(inner)
		}
		return n
	}
	return 1
}

// TestNoValueIsLost: if there is a table, all leaves of a full spec arrive. If there is none, two
// fields have one target.
func TestNoValueIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := randomObject(t, 3)
		s, m := build(t, o), randomMapping(t)
		table, list := New(s, m)
		again, listAgain := New(s, m)
		if !reflect.DeepEqual(list, listAgain) || (table == nil) != (again == nil) {
			t.Fatal("the table is not deterministic")
		}
		if table == nil {
			if m.Overrides == nil && !collides(o, m) {
				t.Fatalf("nothing collides, and yet: %s", list)
			}
			return
		}
		f := &filler{leave: func() bool { return false }}
		spec := f.fill(o).(map[string]any)
		before := fmt.Sprint(spec)
		values, err := table.Values(spec)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(spec) != before {
			t.Fatal("the spec was changed")
		}
		arrived := 0
		for _, raw := range values {
			var value any
			if err := json.Unmarshal(raw, &value); err != nil {
				t.Fatal(err)
			}
			arrived += count(value)
		}
		if arrived != f.leaves {
			t.Fatalf("%d of %d leaves arrived: %v", arrived, f.leaves, values)
		}
		if m.Overrides == nil && collides(o, m) {
			t.Fatal("a collision was missed")
		}
	})
}

// collides finds collisions in another way: it writes down all names.
func collides(o map[string]any, m Mapping) bool {
	rename := func(name string) string {
		if m.naming() == AsIs {
			return name
		}
		return Snake(name)
	}
	var inside func(s map[string]any) bool
	inside = func(s map[string]any) bool {
		seen := map[string]bool{}
		fields, _ := s["properties"].(map[string]any)
		for name, field := range fields {
			if seen[rename(name)] || inside(field.(map[string]any)) {
				return true
			}
			seen[rename(name)] = true
		}
		for _, word := range []string{"items", "additionalProperties"} {
			if inner, is := s[word].(map[string]any); is && inside(inner) {
				return true
			}
		}
		return false
	}
	if m.Nesting != Flatten {
		return inside(o)
	}
	seen := map[string]bool{}
	var flat func(s map[string]any, prefix string) bool
	flat = func(s map[string]any, prefix string) bool {
		for name, field := range s["properties"].(map[string]any) {
			inner, full := field.(map[string]any), prefix+rename(name)
			if inner["properties"] != nil {
				if flat(inner, full+"_") {
					return true
				}
				continue
			}
			if seen[full] || inside(inner) {
				return true
			}
			seen[full] = true
		}
		return false
	}
	return flat(o, "")
}

// randomType is a type that often fits a schema.
func randomType(t *rapid.T, p *part) string {
	if rapid.IntRange(0, 9).Draw(t, "other") == 0 {
		return rapid.SampledFrom([]string{"string", "number", "bool", "any", "list(string)", "map(string)", "object({ a = string })"}).Draw(t, "type")
	}
	switch p.schema.Type {
	case "array":
		return rapid.SampledFrom([]string{"list", "set"}).Draw(t, "list") + "(" + randomType(t, p.element) + ")"
	case "object":
		if p.element != nil {
			return "map(" + randomType(t, p.element) + ")"
		}
		var attributes []string
		for _, field := range p.sorted() {
			kind := randomType(t, field)
			if rapid.IntRange(0, 9).Draw(t, "optional") > 2 {
				kind = "optional(" + kind + ")"
			}
			attributes = append(attributes, field.name+" = "+kind)
		}
		return "object({ " + strings.Join(attributes, ", ") + " })"
	case "integer":
		return rapid.SampledFrom([]string{"number", "string"}).Draw(t, "number")
	case "boolean":
		return "bool"
	}
	return "string"
}

// TestWhatFitsIsAccepted: if a table fits a module, the variables of every valid spec satisfy it.
func TestWhatFitsIsAccepted(t *testing.T) {
	fitted := 0
	rapid.Check(t, func(t *rapid.T) {
		o := randomObject(t, 3)
		s := build(t, o)
		table, _ := New(s, randomMapping(t))
		if table == nil {
			return
		}
		var program strings.Builder
		for _, root := range table.roots {
			fmt.Fprintf(&program, "variable %q {\n  type = %s\n", root.name, randomType(t, root))
			if rapid.IntRange(0, 3).Draw(t, "required") > 0 {
				program.WriteString("  default = null\n")
			} else if rapid.Bool().Draw(t, "nullable") {
				program.WriteString("  nullable = false\n")
			}
			program.WriteString("}\n")
		}
		m, diags := module.Parse(map[string][]byte{"main.tf": []byte(program.String())})
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		if table.Check(m, Given{}).Err() != nil {
			return
		}
		fitted++
		f := &filler{leave: func() bool { return rapid.Bool().Draw(t, "leave") }}
		full := s.Default(f.fill(o).(map[string]any))
		if bad := s.Validate(full); bad.Err() != nil {
			t.Fatal(bad)
		}
		values, err := table.Values(full)
		if err != nil {
			t.Fatal(err)
		}
		if _, problems, warnings := module.CheckVariables(m, values); len(problems) > 0 || len(warnings) > 0 {
			t.Fatalf("%s%s %s\n%v", program.String(), problems.Error(), warnings, values)
		}
	})
	if fitted < 10 {
		t.Errorf("only %d modules fitted: the law says nothing", fitted)
	}
}
