// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Page describes a module in Markdown: its variables, outputs, providers and calls, and who calls it.
func (l *Library) Page(dir string) string {
	m := l.Modules[dir]
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", cell(dir))
	table(&b, "Variables", []string{"name", "type", "default", "description"}, m.variableRows())
	table(&b, "Outputs", []string{"name", "description"}, m.outputRows())
	table(&b, "Providers", []string{"name", "source", "version"}, m.providerRows())
	var calls [][]string
	for _, call := range m.Wiring.Calls {
		calls = append(calls, []string{code(call.Name), code(target(dir, call.PlacedCall)), code(call.Version)})
	}
	table(&b, "Calls", []string{"name", "module", "version"}, calls)
	if by := l.callers(dir); len(by) > 0 {
		fmt.Fprintf(&b, "\n## Called by\n\n")
		for _, other := range by {
			fmt.Fprintf(&b, "- %s\n", code(other))
		}
	}
	return b.String()
}

// callers are the modules that call a module, sorted.
func (l *Library) callers(dir string) (by []string) {
	for _, other := range l.Dirs() {
		if slices.ContainsFunc(l.Modules[other].edges(), func(e Edge) bool { return e.Local && e.To == dir }) {
			by = append(by, other)
		}
	}
	return by
}

func (m *Module) variableRows() (rows [][]string) {
	for _, name := range m.VariableNames() {
		v := m.Variables[name]
		value := "required"
		switch {
		case v.HasDefault && v.Sensitive:
			value = "hidden"
		case v.HasDefault && v.Default != nil:
			value = code(string(v.Default))
		case v.HasDefault:
			value = "computed"
		}
		description := cell(v.Description)
		if v.Sensitive {
			description = strings.TrimSpace(description + " (sensitive)")
		}
		rows = append(rows, []string{code(name), code(v.TypeString()), value, description})
	}
	return rows
}

func (m *Module) outputRows() (rows [][]string) {
	for _, name := range slices.Sorted(maps.Keys(m.Outputs)) {
		o := m.Outputs[name]
		description := cell(o.Description)
		if o.Sensitive {
			description = strings.TrimSpace(description + " (sensitive)")
		}
		rows = append(rows, []string{code(name), description})
	}
	return rows
}

func (m *Module) providerRows() (rows [][]string) {
	for _, name := range slices.Sorted(maps.Keys(m.RequiredProviders)) {
		p := m.RequiredProviders[name]
		rows = append(rows, []string{code(name), code(sourceOf(name, p)), code(p.Version)})
	}
	return rows
}

func table(b *strings.Builder, title string, heads []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| %s |\n|%s\n", title, strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for _, row := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
}

// maxCell bounds a cell of a table.
const maxCell = 1000

// markup are the characters that mean something in Markdown or HTML.
var markup = strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "`", "\\`", "[", `\[`, "]", `\]`, "*", `\*`, "_", `\_`, "\\", `\\`, "!", `\!`)

// cell makes foreign text plain text of one line.
func cell(text string) string { return markup.Replace(shorten.Cut(shorten.Line(text), maxCell)) }

// code makes foreign text code of one line.
func code(text string) string {
	text = shorten.Cut(shorten.Line(text), maxCell)
	if text == "" {
		return ""
	}
	return "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(text) + "`"
}
