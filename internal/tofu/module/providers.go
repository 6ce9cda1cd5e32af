// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// ProviderNeeds are the required providers of a root module and the modules it calls.
type ProviderNeeds struct {
	// Providers are the version constraints by source, as written or implied: "hashicorp/time". The
	// list is empty if any version fits.
	Providers map[string][]string
	// Remote is true if modules are called that are neither in the source nor installed by tofu.
	Remote bool
	// Unclear says why the constraints may be incomplete; empty if they are complete.
	Unclear string
	// Others is true if there may be further providers: those of tests, or of undeclared functions.
	Others bool
}

// builtInPrefix begins the sources of providers that are part of the tool.
const builtInPrefix = "terraform.io/builtin/"

// providerSchema covers the parts of a file that require providers, for native and JSON files.
var providerSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "terraform"}, {Type: "provider", LabelNames: []string{"name"}},
	{Type: "resource", LabelNames: []string{"type", "name"}}, {Type: "data", LabelNames: []string{"type", "name"}},
	{Type: "ephemeral", LabelNames: []string{"type", "name"}}, {Type: "check", LabelNames: []string{"name"}},
	{Type: "import"}, {Type: "module", LabelNames: []string{"name"}},
}}

// providerFunction matches a call of a provider's function anywhere.
var providerFunction = regexp.MustCompile(`provider::([a-zA-Z0-9_-]+)::`)

// ReadProviders reads the required providers of the module in dir of fsys and of the modules it
// calls: remote ones where .terraform/modules/modules.json of the root module says that tofu
// installed them. The file system must not follow links out of the source.
func ReadProviders(fsys fs.FS, dir string, options ReadOptions) ProviderNeeds {
	needs, _ := NewProviderReader(fsys, options).Read(context.Background(), dir) // it ends only with its context
	return needs
}

// ProviderReader reads the required providers of several modules of one tree, each directory once.
// Modules that call each other would otherwise cost the square of their number. Not safe for
// concurrent use.
type ProviderReader struct {
	fsys    fs.FS
	options ReadOptions
	read    map[string]*moduleProviders
}

// NewProviderReader returns a reader for a tree. The file system must not follow links out of it.
func NewProviderReader(fsys fs.FS, options ReadOptions) *ProviderReader {
	return &ProviderReader{fsys: fsys, options: options, read: map[string]*moduleProviders{}}
}

// Read reads the required providers of the module in dir and of those it calls, as ReadProviders does.
// Its error is that of ctx.
func (r *ProviderReader) Read(ctx context.Context, dir string) (needs ProviderNeeds, err error) {
	w := &providerWalk{ProviderReader: r, ctx: ctx, root: path.Clean(dir), seen: map[string]bool{}}
	w.needs.Providers = map[string][]string{}
	defer func() {
		if problem := recover(); problem != nil {
			needs.Unclear = fmt.Sprintf("reading stopped: %v. This is a bug in Yuba", problem)
		}
	}()
	w.readManifest()
	w.needs.Others = w.hasTests(w.root)
	w.walk(w.root, "", 0)
	for source, constraints := range w.needs.Providers {
		slices.Sort(constraints)
		w.needs.Providers[source] = slices.Compact(constraints)
	}
	return w.needs, context.Cause(ctx)
}

// providerWalk follows the calls of one root module.
type providerWalk struct {
	*ProviderReader
	ctx   context.Context
	root  string
	needs ProviderNeeds
	// installed maps positions in the tree to directories of remote modules.
	installed map[string]string
	calls     int
	size      int
	seen      map[string]bool
}

// moduleProviders are the requirements and calls of one directory.
type moduleProviders struct {
	required    map[string]string   // local name -> source
	constraints map[string][]string // by source
	used        map[string][]string // local names in use, with constraints of provider blocks
	calls       map[string]string
	names       []string // of calls, sorted
	size        int
	// unclear, remote and others are what the directory adds to the fields of ProviderNeeds.
	unclear        string
	remote, others bool
}

func (m *moduleProviders) blur(format string, args ...any) {
	if m.unclear == "" {
		m.unclear = fmt.Sprintf(format, args...)
	}
}

func (w *providerWalk) unclear(format string, args ...any) {
	if w.needs.Unclear == "" {
		w.needs.Unclear = fmt.Sprintf(format, args...)
	}
}

// readManifest reads tofu's list of installed modules. It ignores an invalid file.
func (w *providerWalk) readManifest() {
	file, err := w.fsys.Open(path.Join(w.root, ".terraform/modules/modules.json"))
	if err != nil {
		return
	}
	defer file.Close()
	var manifest struct {
		Modules []struct{ Key, Dir string }
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFileSize))
	if err != nil || json.Unmarshal(text, &manifest) != nil {
		return
	}
	w.installed = map[string]string{}
	for _, m := range manifest.Modules {
		w.installed[m.Key] = m.Dir
	}
}

// walk adds a module and those it calls. It returns false if the tree is too large to go on.
func (w *providerWalk) walk(dir, key string, depth int) bool {
	if w.calls++; w.calls > maxCalls || depth > maxCallDepth {
		w.unclear("the tree has more than %d calls of modules, or more than %d levels", maxCalls, maxCallDepth)
		return w.calls <= maxCalls
	}
	if w.ctx.Err() != nil {
		return false
	}
	m := w.read[dir]
	if m == nil {
		m = w.module(dir)
		m.names = slices.Sorted(maps.Keys(m.calls))
		w.read[dir] = m
	}
	if !w.seen[dir] {
		w.seen[dir] = true
		if w.size += m.size; w.size > maxTotalSize {
			w.unclear("the modules' files have more than %d MiB", maxTotalSize>>20)
			return true
		}
		w.collect(m)
	}
	for _, name := range m.names {
		source := m.calls[name]
		place := strings.TrimPrefix(key+"."+name, ".")
		inner := path.Join(dir, source)
		if !below(source) {
			installed, there := w.installed[place]
			if !there {
				w.needs.Remote = true
				w.unclear("the module %q is not available", place)
				w.calls++
				continue
			}
			inner = path.Join(w.root, installed)
		}
		if !fs.ValidPath(inner) {
			w.unclear("the module %q is outside of the source", place)
			continue
		}
		if !w.walk(inner, place, depth+1) {
			return false
		}
	}
	return true
}

// collect adds the requirements of a module, by source.
func (w *providerWalk) collect(m *moduleProviders) {
	if m.unclear != "" {
		w.unclear("%s", m.unclear)
	}
	w.needs.Remote = w.needs.Remote || m.remote
	w.needs.Others = w.needs.Others || m.others
	add := func(source string, constraints []string) {
		if strings.HasPrefix(source, builtInPrefix) {
			return
		}
		w.needs.Providers[source] = append(w.needs.Providers[source], constraints...)
	}
	for _, source := range m.required {
		add(source, m.constraints[source])
	}
	for name, constraints := range m.used {
		source, declared := m.required[name]
		switch {
		case declared:
			add(source, constraints)
		case name == "terraform": // built in
		default:
			add("hashicorp/"+name, constraints)
		}
	}
}

// module reads one directory.
func (r *ProviderReader) module(dir string) *moduleProviders {
	m := &moduleProviders{required: map[string]string{}, constraints: map[string][]string{}, used: map[string][]string{}, calls: map[string]string{}}
	reader := &requirer{fsys: r.fsys, options: r.options}
	files, err := reader.files(dir, false)
	m.size = reader.size
	if err != nil {
		m.blur("%v", err)
		return m
	}
	primary, override := selectFiles(files)
	p := newParser()
	for _, name := range slices.Concat(primary, override) {
		file := p.parse(name, files[name])
		if file == nil || p.diags.HasErrors() {
			m.blur("%s is invalid; the tool explains it", path.Join(dir, name))
			return m
		}
		m.file(p, file.Body)
		for _, call := range providerFunction.FindAllSubmatch(files[name], -1) {
			_, declared := p.module.RequiredProviders[string(call[1])]
			m.others = m.others || !declared
		}
	}
	for name, provider := range p.module.RequiredProviders {
		source := cmp.Or(provider.Source, "hashicorp/"+name)
		m.required[name] = source
		if provider.Version != "" {
			m.constraints[source] = append(m.constraints[source], provider.Version)
		}
	}
	return m
}

func (r *ProviderReader) hasTests(dir string) bool {
	entries, err := fs.ReadDir(r.fsys, dir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return testsModule(e.Name()) || e.IsDir() && e.Name() == "tests"
	})
}

// file adds the blocks of one file.
func (m *moduleProviders) file(p *parser, body hcl.Body) {
	content, _, diags := body.PartialContent(providerSchema)
	if diags.HasErrors() {
		m.blur("%s", diags.Error())
		return
	}
	for _, block := range content.Blocks {
		switch block.Type {
		case "terraform":
			p.terraform(block)
		case "provider":
			m.use(block.Labels[0], m.literal(block, "version"))
		case "resource", "data", "ephemeral":
			m.resource(block, block.Labels[0])
		case "check":
			m.check(block)
		case "import":
			// Without an explicit name it is the one of the resource's type, which is declared
			// beside it unless that is still to be written.
			if name, given := m.reference(block, "provider"); given {
				m.use(name, "")
			} else if to := keyword(block, "to"); to != "" && to != "module" {
				m.use(impliedName(to), "")
			}
		case "module":
			m.call(block)
		}
	}
}

func (m *moduleProviders) use(name, constraint string) {
	list := m.used[name]
	if constraint != "" {
		list = append(list, constraint)
	}
	m.used[name] = list
}

func impliedName(kind string) string {
	name, _, _ := strings.Cut(kind, "_")
	return name
}

func (m *moduleProviders) resource(block *hcl.Block, kind string) {
	name, given := m.reference(block, "provider")
	if !given {
		name = impliedName(kind)
	}
	m.use(name, "")
}

// check reads a check block, which may contain a data source.
func (m *moduleProviders) check(block *hcl.Block) {
	content, _, _ := block.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "data", LabelNames: []string{"type", "name"}}}})
	for _, inner := range content.Blocks {
		m.resource(inner, inner.Labels[0])
	}
}

func (m *moduleProviders) call(block *hcl.Block) {
	source := m.literal(block, "source")
	if source == "" {
		m.blur("the source of the module %q is computed", block.Labels[0])
		m.remote = true
		return
	}
	m.calls[block.Labels[0]] = source
}

func attribute(block *hcl.Block, name string) *hcl.Attribute {
	content, _, _ := block.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: name}}})
	return content.Attributes[name]
}

// literal returns the text of an attribute; empty if it is missing or computed.
func (m *moduleProviders) literal(block *hcl.Block, name string) string {
	if a := attribute(block, name); a != nil {
		text, ok := literalString(a.Expr)
		if !ok {
			m.blur("the %s of a block %q is computed", name, block.Type)
		}
		return text
	}
	return ""
}

// reference returns the local name in "provider = aws.west", or in its string form.
func (m *moduleProviders) reference(block *hcl.Block, name string) (string, bool) {
	a := attribute(block, name)
	if a == nil {
		return "", false
	}
	if root := keyword(block, name); root != "" {
		return root, true
	}
	m.blur("the %s of a block %q is computed", name, block.Type)
	return "", true
}

// keyword returns the first name of an attribute that is written like a reference.
func keyword(block *hcl.Block, name string) string {
	a := attribute(block, name)
	if a == nil {
		return ""
	}
	if text, ok := literalString(a.Expr); ok {
		root, _, _ := strings.Cut(text, ".")
		return root
	}
	// Other JSON expressions are not references. Their strings were not checked for nesting, and
	// may be deeper than any stack.
	native, ok := a.Expr.(hclsyntax.Expression)
	if !ok {
		return ""
	}
	if variables := native.Variables(); len(variables) > 0 {
		return variables[0].RootName()
	}
	return ""
}
