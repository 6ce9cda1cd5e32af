// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package variables

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/applications/schema"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

type props = apiextensionsv1.JSONSchemaProps

// Table has the targets of a schema.
type Table struct {
	mapping Mapping
	// roots are the variables, in the order of their paths.
	roots []*part
	// open is true if specs may have fields that the schema does not describe.
	open bool
}

// part is a field of the schema, and its name in the module.
type part struct {
	path string
	// keys lead from the spec to the field; only set for variables.
	keys   []string
	name   string
	schema *props
	// there is true if every valid spec has the field, after defaulting; always, if it is never null
	// either.
	there, always bool
	// fields are the fields of an object by key; element is the schema of its other keys, or of the
	// elements of a list.
	fields  map[string]*part
	element *part
}

// Target is where a field goes.
type Target struct {
	// Path is the field in the spec.
	Path string `json:"path"`
	// Variable is its variable, Attribute the way to it inside the variable: ["db", "[*]", "size"].
	Variable  string   `json:"variable"`
	Attribute []string `json:"attribute,omitempty"`
}

// New makes the table of a schema. It returns nil if the findings contain errors.
func New(s *schema.Schema, m Mapping) (*Table, finding.List) {
	b := &builder{mapping: m, used: map[string]bool{}}
	b.options()
	t := &Table{mapping: m, open: open(&s.Spec)}
	if b.list.Err() != nil {
		return nil, b.list
	}
	switch m.Nesting {
	case Values:
		root := b.part(&s.Spec, "", valuesName)
		root.always = true
		t.roots = []*part{root}
	default:
		t.roots = b.variables(&s.Spec, "", nil, "", true)
		if t.open {
			b.list.Add(finding.Warning, "", "declare the fields in the schema, or use nesting: values",
				"fields that the schema does not describe are not passed to the module")
		}
	}
	b.collisions(t.roots, "variable")
	b.unused()
	if b.list.Err() != nil {
		return nil, b.list
	}
	return t, b.list
}

// open reports whether an object may have fields that the schema does not describe.
func open(p *props) bool {
	return p.AdditionalProperties != nil || p.XPreserveUnknownFields != nil && *p.XPreserveUnknownFields
}

type builder struct {
	mapping Mapping
	used    map[string]bool
	list    finding.List
}

func (b *builder) options() {
	if !slices.Contains([]string{"", CamelToSnake, AsIs}, b.mapping.Naming) {
		b.list.Add(finding.Error, "naming", "write camelToSnake or asIs", "%q does not exist", b.mapping.Naming)
	}
	if !slices.Contains([]string{"", Object, Flatten, Values}, b.mapping.Nesting) {
		b.list.Add(finding.Error, "nesting", "write object, flatten or values", "%q does not exist", b.mapping.Nesting)
	}
}

// name returns the name of a field, and whether the definition overrides it.
func (b *builder) name(path, key string) (string, bool) {
	for _, written := range []string{path, "spec." + path} {
		if name, is := b.mapping.Overrides[written]; is {
			b.used[written] = true
			return name, true
		}
	}
	if b.mapping.naming() == AsIs {
		return key, false
	}
	return Snake(key), false
}

// variables makes variables of the fields of an object. A prefix is that of nesting Flatten.
func (b *builder) variables(p *props, path string, keys []string, prefix string, always bool) (parts []*part) {
	for _, key := range slices.Sorted(maps.Keys(p.Properties)) {
		field := p.Properties[key]
		at := finding.Child(path, key)
		name, overridden := b.name(at, key)
		if !overridden {
			name = prefix + name
		}
		below := append(slices.Clone(keys), key)
		there := always && present(p, key)
		if b.mapping.Nesting == Flatten && len(field.Properties) > 0 && !open(&field) {
			parts = append(parts, b.variables(&field, at, below, name+"_", there && !field.Nullable)...)
			continue
		}
		v := b.part(&field, at, name)
		v.keys, v.there, v.always = below, there, there && !field.Nullable
		parts = append(parts, v)
	}
	return parts
}

// present reports whether every valid object has the field, after defaulting.
func present(p *props, key string) bool {
	return p.Properties[key].Default != nil || slices.Contains(p.Required, key)
}

// part describes a field with everything below it.
func (b *builder) part(p *props, path, name string) *part {
	made := &part{path: path, name: name, schema: p}
	for _, key := range slices.Sorted(maps.Keys(p.Properties)) {
		field := p.Properties[key]
		at := finding.Child(path, key)
		inner, _ := b.name(at, key)
		if made.fields == nil {
			made.fields = map[string]*part{}
		}
		made.fields[key] = b.part(&field, at, inner)
		made.fields[key].there = present(p, key)
	}
	switch {
	case p.Items != nil && p.Items.Schema != nil:
		made.element = b.part(p.Items.Schema, path+"[*]", "[*]")
	case p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil:
		made.element = b.part(p.AdditionalProperties.Schema, path+"[*]", "[*]")
	}
	b.collisions(made.sorted(), "attribute")
	return made
}

// sorted returns the fields in the order of their keys.
func (p *part) sorted() []*part {
	fields := make([]*part, 0, len(p.fields))
	for _, key := range slices.Sorted(maps.Keys(p.fields)) {
		fields = append(fields, p.fields[key])
	}
	return fields
}

// collisions reports names that are not possible, and fields with the same name.
func (b *builder) collisions(parts []*part, noun string) {
	byName := map[string][]string{}
	for _, p := range parts {
		byName[p.name] = append(byName[p.name], p.path)
		// In objects that are passed as they are, keys may be any text.
		if noun == "attribute" && b.mapping.naming() == AsIs {
			continue
		}
		if why := objection(p.name, noun == "variable"); why != "" {
			b.list.Add(finding.Error, p.path, override(p.path), "the name of its %s, %q, %s", noun, shorten.CutBytes(p.name, maxShown), why)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if paths := byName[name]; len(paths) > 1 {
			slices.Sort(paths)
			b.list.Add(finding.Error, paths[0], override(paths[len(paths)-1]), "the fields %s would all be the %s %q",
				strings.Join(paths, ", "), noun, shorten.CutBytes(name, maxShown))
		}
	}
}

func override(path string) string {
	return fmt.Sprintf("write another name in overrides: {%q: NAME}", path)
}

// unused reports overrides of fields that do not exist.
func (b *builder) unused() {
	for _, path := range slices.Sorted(maps.Keys(b.mapping.Overrides)) {
		if !b.used[path] {
			b.list.Add(finding.Error, fmt.Sprintf("overrides[%q]", shorten.CutBytes(path, maxShown)), "write the path of a field of the schema, such as db.size or users[*].name",
				"the schema has no such field%s", flattened(b.mapping))
		}
	}
}

func flattened(m Mapping) string {
	if m.Nesting == Flatten {
		return " that becomes a variable or a part of its name"
	}
	return ""
}

const maxShown = 100

// Targets returns where each field goes, in the order of the paths.
func (t *Table) Targets() (targets []Target) {
	for _, root := range t.roots {
		targets = append(targets, root.targets(root.name, nil)...)
	}
	slices.SortFunc(targets, func(a, b Target) int { return cmp.Compare(a.Path, b.Path) })
	return targets
}

func (p *part) targets(variable string, way []string) []Target {
	list := []Target{{Path: p.path, Variable: variable, Attribute: way}}
	for _, field := range p.sorted() {
		list = append(list, field.targets(variable, append(slices.Clone(way), field.name))...)
	}
	if p.element != nil {
		list = append(list, p.element.targets(variable, append(slices.Clone(way), "[*]"))...)
	}
	return list
}
