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
	// maxSurvey limits how long the directories of an archive are read. A real one takes less than a
	// second.
	maxSurvey = 20 * time.Second
)

// survey reads the directories of a module. Each is parsed once, however many others call it.
type survey struct {
	ctx     context.Context
	tree    *tree
	needs   *module.ProviderReader
	parsed  map[string]*parsed
	readmes int
	errors  diagnostic.List
	// checked are directories whose configuration and calls were checked.
	checked map[string]bool
}

// parsed is the configuration of one directory.
type parsed struct {
	module   *module.Module
	mistakes diagnostic.List
	placed   module.Placed
}

func newSurvey(tree *tree) *survey {
	return &survey{tree: tree, readmes: maxReadmes, needs: module.NewProviderReader(tree, module.ReadOptions{}), parsed: map[string]*parsed{}, checked: map[string]bool{}}
}

// module fills m with everything that the tree declares.
func (s *survey) module(ctx context.Context, m *Module) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxSurvey, &Error{Reason: fmt.Sprintf("reading its modules takes longer than %s; publish them in several archives", maxSurvey)})
	defer cancel()
	s.ctx = ctx
	m.Interface = s.directory(".")
	s.check(".")
	for _, dir := range s.tree.modulesBelow("modules") {
		if len(m.Submodules) == maxParts {
			return &Error{Reason: fmt.Sprintf("the archive has more than %d submodules", maxParts)}
		}
		m.Submodules = append(m.Submodules, Part{Path: dir, Interface: s.directory(dir)})
		s.check(dir)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(s.errors) > 0 {
		return &Error{Diagnostics: s.errors[:min(len(s.errors), maxReported)]}
	}
	for _, dir := range s.tree.modulesBelow("examples") {
		if len(m.Examples) == maxParts {
			break
		}
		m.Examples = append(m.Examples, Part{Path: dir, Interface: s.directory(dir)})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if list := s.parse(dir).mistakes; list.HasErrors() {
			m.Warnings = append(m.Warnings, fmt.Sprintf("the example %s is invalid: %s", dir, inDir(dir, list.Errors())[0]))
		}
	}
	return nil
}

// parse parses a directory. It returns an empty one after the survey's context has ended, whose caller
// looks at the context before it uses any result.
func (s *survey) parse(dir string) *parsed {
	if p := s.parsed[dir]; p != nil {
		return p
	}
	p := &parsed{module: &module.Module{}}
	if s.ctx.Err() == nil {
		p.module, p.placed, p.mistakes = module.ParsePlaced(s.config(dir))
	}
	s.parsed[dir] = p
	return p
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
	p := s.parse(dir)
	s.errors = append(s.errors, inDir(dir, p.mistakes.Errors())...)
	for _, call := range p.placed.Calls {
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
	p := s.parse(dir)
	m := p.module
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
	for _, call := range p.placed.Calls {
		out.Calls = append(out.Calls, Call{Name: call.Name, Source: cut(call.Source), Version: cut(call.Version), Pos: at(call.Pos)})
	}
	out.Readme = s.readme(dir)
	if !strings.HasPrefix(dir, "examples/") {
		out.Warnings = warnings(m, p.placed, at)
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
	needs, err := s.needs.Read(s.ctx, dir)
	if err != nil {
		return nil
	}
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
