// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Edge is a call of a module by another.
type Edge struct {
	From string `json:"from"`
	// To is a directory, or the source of a module from elsewhere.
	To    string   `json:"to"`
	Local bool     `json:"local"`
	Calls []string `json:"calls"`
}

// Edges are the calls of some modules and of all that these call, sorted. Without names of directories
// they are all calls.
func (l *Library) Edges(from ...string) []Edge {
	if len(from) == 0 {
		from = l.Dirs()
	}
	seen := map[string]bool{}
	var edges []Edge
	for queue := slices.Clone(from); len(queue) > 0; queue = queue[1:] {
		m := l.Modules[queue[0]]
		if m == nil || seen[m.Dir] {
			continue
		}
		seen[m.Dir] = true
		for _, e := range m.edges() {
			edges = append(edges, e)
			if e.Local {
				queue = append(queue, e.To)
			}
		}
	}
	slices.SortFunc(edges, func(a, b Edge) int { return strings.Compare(a.From+"\x00"+a.To, b.From+"\x00"+b.To) })
	return edges
}

// edges are the calls of a module, those of one module together.
func (m *Module) edges() (edges []Edge) {
	for _, call := range m.Wiring.Calls {
		e := Edge{From: m.Dir, To: target(m.Dir, call.PlacedCall), Calls: []string{call.Name}}
		_, e.Local = callee(m.Dir, call.PlacedCall)
		if i := slices.IndexFunc(edges, func(other Edge) bool { return other.To == e.To }); i >= 0 {
			edges[i].Calls = append(edges[i].Calls, call.Name)
			continue
		}
		edges = append(edges, e)
	}
	return edges
}

// target is what a call is of.
func target(dir string, call module.PlacedCall) string {
	at, local := callee(dir, call)
	switch {
	case local:
		return at
	case call.Computed || call.Source == "":
		return "(computed)"
	}
	return call.Source
}

// maxNames is how many calls an edge of a picture names.
const maxNames = 3

// Mermaid draws edges as a flowchart in the language of Mermaid.
func Mermaid(edges []Edge) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	ids := map[string]string{}
	node := func(name string, local bool) string {
		id, known := ids[name]
		if !known {
			id = fmt.Sprintf("m%d", len(ids))
			ids[name] = id
			shape := "[%q]"
			if !local {
				shape = "([%q])" // from elsewhere
			}
			fmt.Fprintf(&b, "  %s"+shape+"\n", id, plain(name))
		}
		return id
	}
	for _, e := range edges {
		from := node(e.From, true)
		to := node(e.To, e.Local)
		fmt.Fprintf(&b, "  %s -->|%s| %s\n", from, plain(names(e.Calls)), to)
	}
	return b.String()
}

func names(calls []string) string {
	text := strings.Join(calls[:min(len(calls), maxNames)], ", ")
	if more := len(calls) - maxNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// plain keeps the characters of a foreign text that mean nothing in a picture.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune("\"|[](){}<>`#;&\\", r) {
			return '_'
		}
		return r
	}, text)
}
