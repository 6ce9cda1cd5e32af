// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package variables

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/kit/nearest"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Given are the variables that a definition sets beside the spec.
type Given struct {
	// Variables have values, Names are set to unknown ones.
	Variables map[string]json.RawMessage
	Names     []string
	// Env are names of environment variables; TF_VAR_x sets x.
	Env []string
	// Open is true if unknown sources may set more variables.
	Open bool
}

func (g Given) sets(name string) bool {
	_, is := g.Variables[name]
	return is || slices.Contains(g.Names, name)
}

// Check compares the targets with what a module declares.
func (t *Table) Check(m *module.Module, g Given) finding.List {
	c := &checker{module: m, list: t.Twice(g)}
	mapped := map[string]bool{}
	for _, root := range t.roots {
		mapped[root.name] = true
		c.variable(root)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Variables)) {
		v := m.Variables[name]
		_, inFile := m.Assigned[name]
		if !v.Required() || mapped[name] || inFile || g.Open || g.sets(name) || slices.Contains(g.Env, "TF_VAR_"+name) {
			continue
		}
		c.add(finding.Error, "", v, "add a field to the schema, a value to the template, or a default to the variable",
			"the module requires the variable %q, and nothing sets it", name)
	}
	c.literals(g)
	return c.list
}

// Twice reports the variables that both a field and the definition's template set: users could replace
// what the template fixes. It needs no module.
func (t *Table) Twice(g Given) (list finding.List) {
	for _, root := range t.roots {
		if g.sets(root.name) {
			list.Add(finding.Error, fieldOf(root.path), override(root.path)+", or remove it from the template",
				"the variable %q is also set by the definition's template", root.name)
		}
	}
	return list
}

type checker struct {
	module *module.Module
	list   finding.List
}

func (c *checker) add(severity finding.Severity, field string, v *module.Variable, advice, problem string, args ...any) {
	c.list.Add(severity, field, advice, problem, args...)
	c.list[len(c.list)-1].Pos = v.Pos.String()
}

func fieldOf(path string) string {
	switch {
	case path == "":
		return "spec"
	case strings.HasPrefix(path, "["):
		return "spec" + path
	}
	return "spec." + path
}

// variable compares one variable.
func (c *checker) variable(root *part) {
	v := c.module.Variables[root.name]
	if v == nil {
		c.list.Add(finding.Error, fieldOf(root.path), c.similar(root.name, "overrides"), "the module does not declare the variable %q", root.name)
		return
	}
	if _, inFile := c.module.Assigned[root.name]; v.Required() && !root.always && !inFile {
		c.add(finding.Error, fieldOf(root.path), v, "make the field required or give it a default, or give the variable a default",
			"instances may leave the field out, and the variable %q is required", root.name)
	}
	c.fits(root, v.Type, v)
}

// similar suggests the variable that was probably meant, and where to write it, or lists those that there
// are.
func (c *checker) similar(name, place string) string {
	names := c.module.VariableNames()
	if other := similar(name, names); other != "" {
		v := c.module.Variables[other]
		return fmt.Sprintf("it declares %s (%s): if that is meant, write that in %s", other, v.Pos, place)
	}
	switch {
	case len(names) == 0:
		return "it declares no variables"
	case len(names) > 20:
		names = append(names[:20:20], "…")
	}
	return "it declares " + strings.Join(names, ", ")
}

// similar is the name that is the same but for case and underscores, or else differs in up to a third of
// its letters, up to three; empty for none.
func similar(name string, names []string) string {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	byPlain := map[string]string{}
	var plains []string
	for _, other := range names {
		byPlain[plain(other)] = other
		plains = append(plains, plain(other))
	}
	return byPlain[nearest.Word(plain(name), plains, min(3, len(name)/3))]
}

// literals checks the values in the template.
func (c *checker) literals(g Given) {
	_, problems, _ := module.CheckVariables(c.module, g.Variables)
	for _, p := range problems {
		if _, is := g.Variables[p.Variable]; is {
			c.list = append(c.list, finding.Finding{Severity: finding.Error, Field: "template", Pos: p.Pos.String(),
				Problem: "variable " + p.Variable + ": " + p.Reason})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.Variables)) {
		if c.module.Variables[name] == nil {
			c.list.Add(finding.Error, "template", c.similar(name, "the template"), "the module does not declare the variable %q", name)
		}
	}
}
