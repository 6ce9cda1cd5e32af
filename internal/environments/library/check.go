// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/nearest"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// check is one check of a library.
type check struct {
	*Library
	found []Finding
}

// Check finds where modules of the library do not fit, in the order of places.
func (l *Library) Check() []Finding {
	c := &check{Library: l}
	for _, dir := range l.Dirs() {
		m := l.Modules[dir]
		c.readable(m)
		for _, call := range m.Wiring.Calls {
			c.call(m, call)
		}
		c.uses(m)
		c.blocks(m)
	}
	c.cycles()
	for _, root := range l.Roots() {
		c.versions(root)
	}
	return sorted(c.found)
}

// readable reports what could not be read.
func (c *check) readable(m *Module) {
	for _, d := range m.Problems {
		c.add(d.Severity, Unreadable, m, module.Position{File: d.File, Line: d.Line}, m.Dir, "%s", strings.TrimSuffix(strings.TrimSpace(d.Summary+": "+d.Detail), ":"))
	}
	for _, name := range m.Wiring.Skipped {
		if strings.HasSuffix(name, ".json") {
			c.warn(Unreadable, m, module.Position{File: name, Line: 1}, m.Dir, "calls and references in JSON are not checked")
		}
	}
}

// call checks what a call passes.
func (c *check) call(m *Module, call module.WiredCall) {
	at, local := callee(m.Dir, call.PlacedCall)
	subject := "module." + call.Name
	if !local {
		return // a registry's or a repository's, or computed: tofu checks it
	}
	if at == ".." || strings.HasPrefix(at, "../") {
		c.warn(Outside, m, call.Pos, subject, "it calls %s, which is outside of the tree and not checked", call.Source)
		return
	}
	called := c.Modules[at]
	if called == nil {
		c.fail(NoModule, m, call.Pos, subject, "it calls %s, and there is no module in %s%s", call.Source, at, hint(path.Base(at), c.siblings(at)))
		return
	}
	if len(called.Problems) > 0 {
		return // what it declares is not known
	}
	c.arguments(m, call, called)
	c.providers(m, call, called)
}

// siblings are the base names of the modules beside a directory.
func (c *check) siblings(dir string) (names []string) {
	for other := range c.Modules {
		if path.Dir(other) == path.Dir(dir) {
			names = append(names, path.Base(other))
		}
	}
	return names
}

func (c *check) arguments(m *Module, call module.WiredCall, called *Module) {
	for _, name := range slices.Sorted(maps.Keys(call.Arguments)) {
		argument := call.Arguments[name]
		subject := "module." + call.Name + "." + name
		v := called.Variables[name]
		if v == nil {
			c.fail(UnknownArgument, m, argument.Pos, subject, "%s has no variable %q%s", called.Dir, name, hint(name, called.VariableNames()))
			continue
		}
		why, extra := v.Misfit(argument)
		if why != "" {
			c.fail(WrongType, m, argument.Pos, subject, "%s does not take it: %s", called.Dir, why)
		}
		for _, attribute := range extra {
			c.warn(DroppedAttribute, m, argument.Pos, subject, "the type of the variable in %s has no attribute %s: tofu drops it silently", called.Dir, attribute)
		}
	}
	for _, name := range called.VariableNames() {
		if _, given := call.Arguments[name]; !given && called.Variables[name].Required() {
			c.fail(MissingArgument, m, call.Pos, "module."+call.Name+"."+name, "%s needs a value for its variable %q", called.Dir, name)
		}
	}
}

// providers checks the provider configurations that a call passes.
func (c *check) providers(m *Module, call module.WiredCall, called *Module) {
	subject := "module." + call.Name
	takes := map[string]bool{}
	for name, p := range called.RequiredProviders {
		takes[name] = true
		for _, alias := range p.Aliases {
			takes[alias] = true
			if _, passed := call.Providers[alias]; !passed {
				c.fail(MissingProvider, m, call.Pos, subject, "%s needs the provider configuration %q: add providers = { %s = … }", called.Dir, alias, alias)
			}
		}
	}
	has := m.configurations()
	for _, name := range slices.Sorted(maps.Keys(call.Providers)) {
		passed := call.Providers[name]
		if strings.Contains(name, ".") && !takes[name] {
			c.fail(UnknownProvider, m, passed.Pos, subject, "%s does not take the provider configuration %q%s", called.Dir, name, hint(name, slices.Collect(maps.Keys(takes))))
		}
		if strings.Contains(passed.Name, ".") && !has[passed.Name] {
			c.fail(UnknownProvider, m, passed.Pos, subject, "the module has no provider configuration %q%s", passed.Name, hint(passed.Name, slices.Collect(maps.Keys(has))))
		}
	}
}

// configurations are the provider configurations that a module has or gets.
func (m *Module) configurations() map[string]bool {
	has := map[string]bool{}
	for name := range m.Wiring.Providers {
		has[name] = true
	}
	for _, p := range m.RequiredProviders {
		for _, alias := range p.Aliases {
			has[alias] = true
		}
	}
	return has
}

// uses checks the references to outputs, also those that try() hides.
func (c *check) uses(m *Module) {
	calls := map[string]module.WiredCall{}
	for _, call := range m.Wiring.Calls {
		calls[call.Name] = call
	}
	for _, use := range m.Wiring.Uses {
		subject := "module." + use.Call + "." + use.Output
		call, there := calls[use.Call]
		if !there {
			if len(m.Wiring.Skipped) == 0 {
				c.fail(UnknownCall, m, use.Pos, subject, "the module calls nothing named %q%s", use.Call, hint(use.Call, slices.Collect(maps.Keys(calls))))
			}
			continue
		}
		at, local := callee(m.Dir, call.PlacedCall)
		called := c.Modules[at]
		if !local || called == nil || len(called.Problems) > 0 {
			continue
		}
		if called.Outputs[use.Output] == nil {
			c.fail(UnknownOutput, m, use.Pos, subject, "%s has no output %q%s", called.Dir, use.Output, hint(use.Output, slices.Collect(maps.Keys(called.Outputs))))
		}
	}
}

// hint names the word that was probably meant.
func hint(word string, known []string) string {
	slices.Sort(known)
	if best := nearest.Word(word, known, max(2, len(word)/3)); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}

// cycles reports modules that call each other, each cycle once.
func (c *check) cycles() {
	done := map[string]bool{}
	for _, start := range c.Dirs() {
		if !done[start] {
			c.walk(start, nil, done)
		}
	}
}

// maxDepth limits how deep modules call each other.
const maxDepth = 100

// walk follows calls from a module. way are the modules that led to it.
func (c *check) walk(dir string, way []string, done map[string]bool) {
	m := c.Modules[dir]
	if m == nil || done[dir] || len(way) > maxDepth {
		return
	}
	way = append(way, dir)
	for _, call := range m.Wiring.Calls {
		at, local := callee(dir, call.PlacedCall)
		if !local {
			continue
		}
		if from := slices.Index(way, at); from >= 0 {
			c.fail(CallCycle, m, call.Pos, "module."+call.Name, "the modules call each other without end: %s", strings.Join(append(slices.Clone(way[from:]), at), " calls "))
			continue
		}
		c.walk(at, way, done)
	}
	done[dir] = true
}
