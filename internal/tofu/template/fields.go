// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"bytes"
	"encoding/json"
	"text/template/parse"
)

// Field is a position where a template reads its data.
type Field struct {
	// Path are the keys from the root of the data.
	Path []string
	// Written is true if a result of it is written. By is the function that produces the result;
	// empty if it is written directly.
	Written bool
	By      string
	// Needed is true if it is always written directly, so it must exist.
	Needed bool
}

// Fields returns the fields that a text reads, as far as they are known without data: not those in
// the body of a loop or of "with", except after "$".
func (d Dialect) Fields(text string) []Field {
	if !d.Has(text) || len(text) > maxSource {
		return nil
	}
	trees, err := parse.Parse(templateName, text, d.Left, right, known(), d.Functions)
	if err != nil || trees[templateName] == nil {
		return nil
	}
	f := &fields{}
	f.list(trees[templateName].Root, true, true)
	return f.found
}

// DocumentFields returns the fields that the strings of a JSON document read, including keys of
// objects.
func DocumentFields(raw []byte) []Field {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil || !bytes.Contains(raw, []byte(documentLeft)) {
		return nil
	}
	var found []Field
	eachText(value, func(text string) { found = append(found, Dialect{Left: documentLeft}.Fields(text)...) })
	return found
}

// eachText calls do with the strings in a value, in a fixed order.
func eachText(value any, do func(string)) {
	switch v := value.(type) {
	case string:
		do(v)
	case []any:
		for _, item := range v {
			eachText(item, do)
		}
	case map[string]any:
		for _, name := range sortedKeys(v) {
			do(name)
			eachText(v[name], do)
		}
	}
}

// fields collects fields.
type fields struct{ found []Field }

// use is how a field is used: top means that the dot is the data; it may be written, by a function,
// or needed.
type use struct {
	top, written bool
	by           string
	needed       bool
}

// list visits a list. top says that the dot in it is the data, always that it is always executed.
func (f *fields) list(l *parse.ListNode, top, always bool) {
	if l == nil {
		return
	}
	for _, node := range l.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			f.action(n.Pipe, top, always)
		case *parse.TemplateNode:
			// Its use inside is not inspected.
			f.pipe(n.Pipe, use{top: top, written: true})
		case *parse.IfNode:
			f.pipe(n.Pipe, use{top: top})
			f.list(n.List, top, false)
			f.list(n.ElseList, top, false)
		case *parse.WithNode:
			f.branch(&n.BranchNode, top)
		case *parse.RangeNode:
			f.branch(&n.BranchNode, top)
		}
	}
}

// branch visits a branch, in whose body the dot may differ.
func (f *fields) branch(n *parse.BranchNode, top bool) {
	f.pipe(n.Pipe, use{top: top, written: true})
	f.list(n.List, false, false)
	f.list(n.ElseList, top, false)
}

// action visits an action; a value assigned to a variable may be written later.
func (f *fields) action(p *parse.PipeNode, top, always bool) {
	if p == nil || len(p.Cmds) == 0 {
		return
	}
	u := use{top: top, written: true}
	last := p.Cmds[len(p.Cmds)-1]
	if name, ok := last.Args[0].(*parse.IdentifierNode); ok && len(p.Decl) == 0 {
		u.by = name.Ident
	}
	u.needed = always && len(p.Decl) == 0 && len(p.Cmds) == 1 && len(last.Args) == 1
	f.pipe(p, u)
}

func (f *fields) pipe(p *parse.PipeNode, u use) {
	if p == nil {
		return
	}
	for _, command := range p.Cmds {
		for _, arg := range command.Args {
			f.argument(arg, u)
		}
	}
}

func (f *fields) argument(arg parse.Node, u use) {
	switch a := arg.(type) {
	case *parse.FieldNode:
		if u.top {
			f.add(a.Ident, u)
		}
	case *parse.VariableNode:
		if a.Ident[0] == "$" && len(a.Ident) > 1 {
			f.add(a.Ident[1:], u)
		}
	case *parse.ChainNode:
		u.needed = false
		f.argument(a.Node, u)
	case *parse.PipeNode:
		u.needed = false
		f.pipe(a, u)
	}
}

func (f *fields) add(path []string, u use) {
	f.found = append(f.found, Field{Path: path, Written: u.written, By: u.by, Needed: u.needed})
}

// Names returns the top-level keys that a JSON value reads, each once.
func (d Dialect) Names(value any) []string {
	var names []string
	seen := map[string]bool{}
	eachText(value, func(text string) {
		for _, field := range d.Fields(text) {
			if name := field.Path[0]; !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	})
	return names
}
