// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// treeModule is what the files of one directory declare, for any caller.
type treeModule struct {
	dir       string
	parser    *parser
	calls     map[string]TreeCall
	resources []TreeResource
	providers []TreeProvider
	programs  []TreeProgram
	unread    []TreeUnread
	// sources are the providers' sources by local name.
	sources map[string]string
}

// treeSchema has all blocks of a module. Others are unread: a later tool may execute them.
var treeSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "terraform"}, {Type: "provider", LabelNames: []string{"name"}}, {Type: "module", LabelNames: []string{"name"}},
	{Type: "resource", LabelNames: []string{"type", "name"}}, {Type: "data", LabelNames: []string{"type", "name"}},
	{Type: "ephemeral", LabelNames: []string{"type", "name"}}, {Type: "check", LabelNames: []string{"name"}}, {Type: "removed"}, {Type: "import"},
	{Type: "moved"}, {Type: "locals"}, {Type: "language"}, {Type: "variable", LabelNames: []string{"name"}}, {Type: "output", LabelNames: []string{"name"}},
}}

func readTreeModule(dir string, files map[string][]byte) (m *treeModule) {
	m = &treeModule{dir: dir, parser: newParser(), calls: map[string]TreeCall{}, sources: map[string]string{}}
	defer func() {
		if problem := recover(); problem != nil {
			m.blur(hcl.Range{}, "reading stopped: %v. This is a bug in Yuba", problem)
		}
	}()
	var bodies []hcl.Body
	size, configured := 0, false
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if extension(name) == "" {
			continue
		}
		configured = true
		if size += len(files[name]); size > maxTotalSize {
			m.blur(hcl.Range{Filename: name}, "the configuration in %s has more than %d MiB", dir, maxTotalSize>>20)
			return m
		}
		file := m.parser.parse(name, files[name])
		if file == nil || file.Body == nil || m.parser.diags.HasErrors() {
			m.blur(hcl.Range{Filename: name}, "%s cannot be read", path.Join(dir, name))
			m.parser.diags = nil
			continue
		}
		bodies = append(bodies, file.Body)
	}
	if !configured {
		m.blur(hcl.Range{}, "the directory %s has no configuration", dir)
	}
	contents := make([]*hcl.BodyContent, 0, len(bodies))
	for _, body := range bodies {
		content, diags := body.Content(treeSchema)
		for _, d := range diags {
			if d.Severity == hcl.DiagError {
				m.blur(rangeOf(d), "%s: %s", d.Summary, d.Detail)
			}
		}
		contents = append(contents, content)
	}
	// Requirements first: they say what the names of providers mean.
	for _, content := range contents {
		for _, block := range content.Blocks.OfType("terraform") {
			m.settings(block)
		}
	}
	for _, content := range contents {
		for _, block := range content.Blocks {
			m.block(block)
		}
	}
	return m
}

func rangeOf(d *hcl.Diagnostic) hcl.Range {
	if d.Subject == nil {
		return hcl.Range{}
	}
	return *d.Subject
}

func (m *treeModule) at(r hcl.Range) Position {
	if r.Filename == "" {
		return Position{}
	}
	return Position{File: path.Join(m.dir, r.Filename), Line: max(r.Start.Line, 1)}
}

func (m *treeModule) blur(r hcl.Range, format string, args ...any) {
	m.unread = append(m.unread, TreeUnread{Why: fmt.Sprintf(format, args...), Pos: m.at(r)})
}

func (m *treeModule) block(block *hcl.Block) {
	switch block.Type {
	case "resource":
		m.resource(block, "managed")
	case "data", "ephemeral":
		m.resource(block, block.Type)
	case "check":
		for _, inner := range blocksIn(block.Body, "data", "type", "name") {
			m.resource(inner, "data")
		}
	case "removed":
		m.removed(block)
	case "provider":
		m.provider(block)
	case "module":
		m.call(block)
	case "import":
		// Its resource is declared, or written by the tool; the provider is one of the module.
		if name := m.reference(block, "provider"); name != "" {
			m.require(name, block)
		}
	}
}

// blocksIn returns the blocks of a type in a body.
func blocksIn(body hcl.Body, kind string, labels ...string) hcl.Blocks {
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: kind, LabelNames: labels}}})
	return content.Blocks
}

// reference returns the local name in "provider = aws.west", or in its string form.
func (m *treeModule) reference(block *hcl.Block, name string) string {
	a := attribute(block, name)
	if a == nil {
		return ""
	}
	if first := firstName(a.Expr); first != "" {
		return first
	}
	m.blur(a.Range, "the %s of a block %q is computed", name, block.Type)
	return ""
}

// firstName returns the first name of a reference, also of one in a string or with a key.
func firstName(expr hcl.Expression) string {
	for _, v := range expr.Variables() {
		if root := v.RootName(); root != "each" && root != "count" {
			return root
		}
	}
	if traversal, diags := hcl.AbsTraversalForExpr(expr); !diags.HasErrors() && len(traversal) > 0 {
		return traversal.RootName()
	}
	text, _ := literalString(expr)
	name, _, _ := strings.Cut(text, ".")
	return name
}

func (m *treeModule) source(name string) string {
	if known, there := m.sources[name]; there {
		return known
	}
	if name == "terraform" {
		return builtInPrefix + "terraform"
	}
	return "hashicorp/" + name
}

// require adds a provider that is only implied.
func (m *treeModule) require(name string, block *hcl.Block) {
	m.providers = append(m.providers, TreeProvider{Name: name, Source: m.source(name), Pos: m.at(block.DefRange)})
}

func (m *treeModule) resource(block *hcl.Block, mode string) {
	r := TreeResource{Mode: mode, Type: block.Labels[0], Name: block.Labels[1], Pos: m.at(block.DefRange)}
	name := cmp.Or(m.reference(block, "provider"), impliedName(r.Type))
	r.Provider = m.source(name)
	for _, p := range blocksIn(block.Body, "provisioner", "type") {
		r.Provisioners = append(r.Provisioners, p.Labels[0])
	}
	m.resources = append(m.resources, r)
}

// removed reads a removed block. Its provisioners run when the object is destroyed.
func (m *treeModule) removed(block *hcl.Block) {
	r := TreeResource{Mode: "managed", Removed: true, Pos: m.at(block.DefRange)}
	from := attribute(block, "from")
	if from == nil {
		m.blur(block.DefRange, "a removed block does not say from where")
		return
	}
	traversal, diags := hcl.AbsTraversalForExpr(from.Expr)
	var names []string
	for _, step := range traversal {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			names = append(names, s.Name)
		case hcl.TraverseAttr:
			names = append(names, s.Name)
		}
	}
	if diags.HasErrors() || len(names) < 2 {
		m.blur(from.Range, "a removed block has an address that cannot be read")
		return
	}
	r.Type, r.Name = names[len(names)-2], names[len(names)-1]
	for _, p := range blocksIn(block.Body, "provisioner", "type") {
		r.Provisioners = append(r.Provisioners, p.Labels[0])
	}
	m.resources = append(m.resources, r)
}

func (m *treeModule) provider(block *hcl.Block) {
	p := TreeProvider{Name: block.Labels[0], Source: m.source(block.Labels[0]), Pos: m.at(block.DefRange)}
	for name, into := range map[string]*string{"alias": &p.Alias, "version": &p.Version} {
		if a := attribute(block, name); a != nil {
			*into, _ = literalString(a.Expr)
		}
	}
	m.providers = append(m.providers, p)
	if runsPlugin(block.Body) {
		m.programs = append(m.programs, TreeProgram{Address: "provider." + p.Name, Kind: "exec", Pos: p.Pos})
	}
}

// runsPlugin reports whether a provider's configuration has a block or an attribute "exec", by which
// the providers of Kubernetes run a program for credentials; also in another block, as that of helm.
func runsPlugin(body hcl.Body) bool {
	if len(blocksIn(body, "exec")) > 0 || len(blocksIn(body, "dynamic", "type")) > 0 && mentionsExec(body) {
		return true
	}
	if a := attribute(&hcl.Block{Body: body}, "exec"); a != nil {
		return true
	}
	if slices.ContainsFunc(blocksIn(body, "kubernetes"), func(b *hcl.Block) bool { return runsPlugin(b.Body) }) {
		return true
	}
	a := attribute(&hcl.Block{Body: body}, "kubernetes")
	if a == nil {
		return false
	}
	pairs, diags := hcl.ExprMap(a.Expr)
	if diags.HasErrors() {
		return true // computed: it may have one
	}
	return slices.ContainsFunc(pairs, func(p hcl.KeyValuePair) bool {
		text, _ := literalString(p.Key)
		return cmp.Or(hcl.ExprAsKeyword(p.Key), text) == "exec"
	})
}

func mentionsExec(body hcl.Body) bool {
	return slices.ContainsFunc(blocksIn(body, "dynamic", "type"), func(b *hcl.Block) bool { return b.Labels[0] == "exec" || b.Labels[0] == "kubernetes" })
}

// call adds a call. Those of override files change calls of others, so both are read.
func (m *treeModule) call(block *hcl.Block) {
	name := block.Labels[0]
	call, there := m.calls[name]
	if !there {
		call.Pos = m.at(block.DefRange)
	}
	for attributeName, value := range map[string]*string{"source": &call.Source, "version": &call.Version} {
		a := attribute(block, attributeName)
		if a == nil {
			continue
		}
		text, ok := literalString(a.Expr)
		if !ok || strings.Contains(text, "${") || strings.Contains(text, "%{") {
			m.blur(a.Range, "the %s of the module %q is computed", attributeName, name)
			continue
		}
		if *value != "" && *value != text {
			m.blur(a.Range, "the module %q is called twice, with different values of %s", name, attributeName)
		}
		*value = text
	}
	m.calls[name] = call
}

// settings reads a terraform block.
func (m *treeModule) settings(block *hcl.Block) {
	for _, inner := range blocksIn(block.Body, "required_providers") {
		before := maps.Clone(m.parser.module.RequiredProviders)
		m.parser.requiredProviders(inner)
		for name, p := range m.parser.module.RequiredProviders {
			if old, there := before[name]; there && old.Source == p.Source && old.Version == p.Version {
				continue
			}
			source := cmp.Or(p.Source, "hashicorp/"+name)
			if old, there := m.sources[name]; there && old != source {
				m.blur(inner.DefRange, "the provider %q has two sources", name)
			}
			m.sources[name] = source
			m.providers = append(m.providers, TreeProvider{Name: name, Source: source, Version: p.Version, Pos: m.at(inner.DefRange)})
		}
	}
	for _, encryption := range blocksIn(block.Body, "encryption") {
		for _, kind := range []string{"key_provider", "method"} {
			for _, inner := range blocksIn(encryption.Body, kind, "type", "name") {
				if inner.Labels[0] == "external" {
					m.programs = append(m.programs, TreeProgram{Address: kind + ".external." + inner.Labels[1], Kind: "external", Pos: m.at(inner.DefRange)})
				}
			}
		}
	}
}
