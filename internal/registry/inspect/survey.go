// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

const (
	// maxParts limits submodules, and examples.
	maxParts = 500
	// maxDescription limits one description, in bytes.
	maxDescription = 4 << 10
	// maxReported limits the errors of one archive.
	maxReported = 50
	// maxSurvey limits how long the directories of an archive are read. Each is read with those that it
	// calls, so a small archive can be much work; a real one takes less than a second.
	maxSurvey = 20 * time.Second
)

// survey reads the directories of a module.
type survey struct {
	tree    *tree
	readmes int
	errors  diagnostic.List
	// checked are directories whose configuration and calls were checked.
	checked map[string]bool
}

// module fills m with everything that the tree declares.
func (s *survey) module(ctx context.Context, m *Module) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxSurvey, &Error{Reason: fmt.Sprintf("reading its modules takes longer than %s; publish them in several archives", maxSurvey)})
	defer cancel()
	s.checked = map[string]bool{}
	m.Interface = s.directory(".")
	s.check(".")
	for _, dir := range s.tree.modulesBelow("modules") {
		if len(m.Submodules) == maxParts {
			return &Error{Reason: fmt.Sprintf("the archive has more than %d submodules", maxParts)}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m.Submodules = append(m.Submodules, Part{Path: dir, Interface: s.directory(dir)})
		s.check(dir)
	}
	if len(s.errors) > 0 {
		return &Error{Diagnostics: s.errors[:min(len(s.errors), maxReported)]}
	}
	for _, dir := range s.tree.modulesBelow("examples") {
		if len(m.Examples) == maxParts {
			break
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m.Examples = append(m.Examples, Part{Path: dir, Interface: s.directory(dir)})
		if _, list := module.Parse(s.config(dir)); list.HasErrors() {
			m.Warnings = append(m.Warnings, fmt.Sprintf("the example %s is invalid: %s", dir, inDir(dir, list.Errors())[0]))
		}
	}
	return nil
}

// config returns a directory's configuration without values of variables, which only matter in a
// root module.
func (s *survey) config(dir string) map[string][]byte {
	files := s.tree.in(dir)
	maps.DeleteFunc(files, func(name string, _ []byte) bool { return isValueFile(name) || !module.IsConfigFile(name) })
	return files
}

// inDir makes the files of diagnostics relative to the archive.
func inDir(dir string, list diagnostic.List) diagnostic.List {
	list = slices.Clone(list)
	for i := range list {
		if list[i].File != "" {
			list[i].File = path.Join(dir, list[i].File)
		}
	}
	return list
}

// check records the errors of a directory and of those that it calls: callers of the module cannot
// use any of them.
func (s *survey) check(dir string) {
	if s.checked[dir] {
		return
	}
	s.checked[dir] = true
	files := s.config(dir)
	_, list := module.Parse(files)
	s.errors = append(s.errors, inDir(dir, list.Errors())...)
	for _, call := range module.ReadPlaced(files).Calls {
		if call.Computed || !call.Local() {
			continue
		}
		target := path.Join(dir, call.Source)
		problem := ""
		switch {
		case target == ".." || strings.HasPrefix(target, "../"):
			problem = "leads out of the module, whose archive contains only its own directory"
		case !s.tree.isModule(target):
			problem = fmt.Sprintf("leads to %s, which has no configuration files in the archive", target)
		default:
			s.check(target)
			continue
		}
		s.errors = append(s.errors, diagnostic.Diagnostic{
			Severity: diagnostic.Error, Summary: "Missing module", File: path.Join(dir, call.Pos.File), Line: call.Pos.Line, Column: 1,
			Detail: fmt.Sprintf("The source %q of the module %q %s.", call.Source, call.Name, problem),
		})
	}
}

// directory reads the interface of one directory. Its errors are those of check.
func (s *survey) directory(dir string) Interface {
	files := s.config(dir)
	m, _ := module.Parse(files)
	at := func(p module.Position) module.Position {
		return module.Position{File: path.Join(dir, p.File), Line: p.Line}
	}
	var out Interface
	for _, name := range m.VariableNames() {
		out.Inputs = append(out.Inputs, input(m.Variables[name], at))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Outputs)) {
		o := m.Outputs[name]
		out.Outputs = append(out.Outputs, Output{Name: name, Description: cut(o.Description), Sensitive: o.Sensitive, Ephemeral: o.Ephemeral, Pos: at(o.Pos)})
	}
	out.Tool = slices.Compact(slices.Sorted(slices.Values(m.RequiredVersion)))
	out.Providers = s.providers(dir, m)
	placed := module.ReadPlaced(files)
	for _, call := range placed.Calls {
		out.Calls = append(out.Calls, Call{Name: call.Name, Source: cut(call.Source), Version: cut(call.Version), Pos: at(call.Pos)})
	}
	out.Readme = s.readme(dir)
	if !strings.HasPrefix(dir, "examples/") {
		out.Warnings = warnings(m, placed, at)
	}
	return out
}

func input(v *module.Variable, at func(module.Position) module.Position) Input {
	in := Input{
		Name: v.Name, Description: cut(v.Description), Type: v.Written, Optional: v.HasDefault, Default: v.Default,
		Sensitive: v.Sensitive, Ephemeral: v.Ephemeral, Nullable: v.Nullable, Pos: at(v.Pos),
	}
	var err error
	if in.Cty, err = ctyjson.MarshalType(v.Type); err != nil {
		in.Cty = []byte(`"dynamic"`)
	}
	return in
}

// providers returns the required providers, with those of resources and local modules.
func (s *survey) providers(dir string, m *module.Module) []Provider {
	needs := module.ReadProviders(s.tree, dir, module.ReadOptions{})
	bySource := map[string]*Provider{}
	for source, versions := range needs.Providers {
		bySource[source] = &Provider{Source: source, Versions: versions}
	}
	for name, declared := range m.RequiredProviders {
		source := declared.Source
		if source == "" {
			source = "hashicorp/" + name
		}
		p := bySource[source]
		if p == nil {
			p = &Provider{Source: source}
			if declared.Version != "" {
				p.Versions = []string{declared.Version}
			}
			bySource[source] = p
		}
		p.Name = name
		p.Aliases = declared.Aliases
	}
	var out []Provider
	for _, source := range slices.Sorted(maps.Keys(bySource)) {
		out = append(out, *bySource[source])
	}
	return out
}

func (s *survey) readme(dir string) string {
	text := strings.ToValidUTF8(string(bestReadme(s.tree.in(dir))), "\uFFFD")
	if len(text) > s.readmes {
		text = trim(text, s.readmes)
	}
	s.readmes -= len(text)
	return text
}

// warnings names settings that surprise callers.
func warnings(m *module.Module, placed module.Placed, at func(module.Position) module.Position) []string {
	var out []string
	if m.Backend != nil {
		out = append(out, fmt.Sprintf("%s: tofu ignores the backend of a called module; it belongs in the root module", at(m.Backend.Pos)))
	}
	if placed.Provider != nil {
		out = append(out, fmt.Sprintf("%s: a module that configures a provider cannot be called with count, for_each or depends_on; leave the configuration to the root module", at(*placed.Provider)))
	}
	return out
}

func cut(text string) string { return trim(text, maxDescription) }

// trim shortens a text to at most limit bytes without breaking a character.
func trim(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
