// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Limits of a tree of modules whose requirements are read. A few files can form a tree of any size
// through their calls, which is too much to save one process.
const (
	maxCalls     = 1000
	maxCallDepth = 32
)

// Requirements are what `init` reads in a root module and its local modules: required tools and
// providers, module calls, and the backend.
type Requirements struct {
	// Digest is equal for two trees only if init, with the same tool, lock file and providers, has
	// the same result for both. It may differ although the result would be the same.
	Digest string
	// Calls counts all module calls of the tree.
	Calls int
}

// ReadOptions configure reading.
type ReadOptions struct {
	// Skip names a file of the root module to ignore, because the caller accounts for it.
	Skip string
	// Terraform is true for the tool terraform, which does not read .tofu files.
	Terraform bool
}

// UnclearError says why the result of init cannot be determined from the configuration alone.
type UnclearError struct {
	Dir, Why string
}

func (e *UnclearError) Error() string {
	return fmt.Sprintf("read the requirements of the module in %q: %s", e.Dir, e.Why)
}

func unclear(dir, format string, args ...any) error {
	return &UnclearError{Dir: dir, Why: fmt.Sprintf(format, args...)}
}

// ReadRequirements reads the requirements of the module in dir of fsys. It returns an *UnclearError
// if they cannot be determined: for remote modules, computed sources, errors, and unknown blocks.
// The file system must not follow links out of the source.
func ReadRequirements(fsys fs.FS, dir string, options ReadOptions) (required Requirements, err error) {
	r := &requirer{fsys: fsys, options: options, hash: sha256.New(), read: map[string]*moduleParts{}}
	defer func() {
		if problem := recover(); problem != nil {
			err = unclear(dir, "reading stopped: %v. This is a bug in Yuba", problem)
		}
	}()
	if err := r.walk(path.Clean(dir), "", 0); err != nil {
		return Requirements{}, err
	}
	return Requirements{Digest: hex.EncodeToString(r.hash.Sum(nil)), Calls: r.calls}, nil
}

// requirer walks a tree of modules.
type requirer struct {
	fsys    fs.FS
	options ReadOptions
	hash    hash.Hash
	read    map[string]*moduleParts
	calls   int
	size    int
}

// moduleParts are the relevant parts of one directory.
type moduleParts struct {
	digest string
	calls  map[string]string // name -> source
}

// walk adds a module and those it calls. The key is its position in the tree, in tofu's notation.
func (r *requirer) walk(dir, key string, depth int) error {
	if r.calls++; r.calls > maxCalls || depth > maxCallDepth {
		return unclear(dir, "the tree has more than %d calls of modules, or more than %d levels", maxCalls, maxCallDepth)
	}
	parts := r.read[dir]
	if parts == nil {
		var err error
		if parts, err = r.module(dir, depth == 0); err != nil {
			return err
		}
		r.read[dir] = parts
	}
	fmt.Fprintf(r.hash, "%q %q\n", key, parts.digest)
	for _, name := range slices.Sorted(maps.Keys(parts.calls)) {
		source := parts.calls[name]
		inner := path.Join(dir, source)
		if inner == ".." || strings.HasPrefix(inner, "../") {
			return unclear(dir, "the module %q is outside of the source", name)
		}
		// Name the called module relative to its caller: two roots may have different depths in
		// their sources.
		fmt.Fprintf(r.hash, "%q calls %q at %q\n", key, name, source)
		if err := r.walk(inner, strings.TrimPrefix(key+"."+name, "."), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// module reads the files of one directory.
func (r *requirer) module(dir string, root bool) (*moduleParts, error) {
	files, err := r.files(dir, root)
	if err != nil {
		return nil, err
	}
	primary, override := selectFiles(files)
	if len(primary)+len(override) == 0 {
		return nil, unclear(dir, "it has no configuration files")
	}
	p := &partsReader{dir: dir, elements: map[string]bool{}, calls: map[string]string{},
		parser: newParser()}
	for _, name := range slices.Concat(primary, override) {
		// An override changes single resources, so their identity matters.
		if err := p.file(name, files[name], len(override) > 0); err != nil {
			return nil, err
		}
	}
	sum := sha256.New()
	for _, element := range slices.Sorted(maps.Keys(p.elements)) {
		fmt.Fprintf(sum, "%d:%s\n", len(element), element)
	}
	return &moduleParts{digest: hex.EncodeToString(sum.Sum(nil)), calls: p.calls}, nil
}

// files reads the configuration of a directory.
func (r *requirer) files(dir string, root bool) (map[string][]byte, error) {
	entries, err := fs.ReadDir(r.fsys, dir)
	if err != nil {
		return nil, unclear(dir, "%v", err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case root && (testsModule(name) || entry.IsDir() && name == "tests"):
			return nil, unclear(dir, "it has tests, which init reads, too")
		case entry.IsDir() || extension(name) == "" || root && name == r.options.Skip:
			continue
		case r.options.Terraform && strings.Contains(extension(name), "tofu"):
			return nil, unclear(dir, "it has .tofu files, which the tool ignores")
		case len(files) == maxFiles:
			return nil, unclear(dir, "it has more than %d files", maxFiles)
		}
		content, err := readFile(r.fsys, path.Join(dir, name))
		if err != nil {
			return nil, unclear(dir, "read %s: %v", name, err)
		}
		if r.size += len(content); r.size > maxTotalSize {
			return nil, unclear(dir, "the modules' files have more than %d MiB", maxTotalSize>>20)
		}
		files[name] = content
	}
	return files, nil
}

func testsModule(name string) bool {
	return slices.ContainsFunc([]string{".tftest.hcl", ".tofutest.hcl", ".tftest.json", ".tofutest.json"},
		func(ext string) bool { return strings.HasSuffix(name, ext) })
}

// partsReader collects the relevant parts of one directory. They are a set: order and number do not
// matter to init.
type partsReader struct {
	dir      string
	parser   *parser
	elements map[string]bool
	calls    map[string]string
}

func (p *partsReader) add(format string, args ...any) {
	p.elements[fmt.Sprintf(format, args...)] = true
}

func (p *partsReader) whole(name string, src []byte) {
	sum := sha256.Sum256(src)
	p.add("file %q %x", name, sum)
}

func (p *partsReader) file(name string, src []byte, whole bool) error {
	file := p.parser.parse(name, src)
	switch {
	case p.parser.diags.HasErrors() || file == nil:
		return unclear(p.dir, "%s is invalid; the tool explains it", name)
	case strings.HasSuffix(name, ".json"):
		return p.json(name, src)
	}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok || len(body.Attributes) > 0 {
		return unclear(p.dir, "%s does not have the format of a configuration file", name)
	}
	// Any expression may call functions of providers.
	if whole || bytes.Contains(src, []byte("::")) {
		p.whole(name, src)
	}
	for _, block := range body.Blocks {
		if err := p.block(name, src, block); err != nil {
			return err
		}
	}
	return nil
}

// json adds a JSON file as a whole. Its bodies cannot be read without a schema.
func (p *partsReader) json(name string, src []byte) error {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(src, &top); err != nil {
		return unclear(p.dir, "%s is more than one object", name)
	}
	for _, key := range []string{"module", "action", "list"} {
		if _, there := top[key]; there {
			return unclear(p.dir, "%s calls modules in JSON, or contains unknown parts", name)
		}
	}
	for _, sign := range []string{"${", "encryption", "cloud", `\u`} {
		if bytes.Contains(top["terraform"], []byte(sign)) {
			return unclear(p.dir, "%s has settings of the tool that may be computed", name)
		}
	}
	p.whole(name, src)
	return nil
}

// block adds a top-level block.
func (p *partsReader) block(name string, src []byte, block *hclsyntax.Block) error {
	switch block.Type {
	case "variable", "locals", "output", "moved":
		return nil
	case "resource", "data", "ephemeral":
		return p.resource(src, block)
	case "provider":
		if len(block.Labels) != 1 {
			return errLabels(p.dir, block)
		}
		p.add("provider %q %q %q", block.Labels[0], text(src, block.Body, "version"), text(src, block.Body, "alias"))
		return nil
	case "module":
		return p.call(src, block)
	case "terraform":
		return p.terraform(src, block)
	case "import", "removed", "check", "language":
		p.add("%s", textOf(src, block))
		return nil
	}
	return unclear(p.dir, "%s has a block %q; it is unknown whether init reads it", name, block.Type)
}

func (p *partsReader) resource(src []byte, block *hclsyntax.Block) error {
	if len(block.Labels) != 2 {
		return errLabels(p.dir, block)
	}
	p.add("%s %q %q", block.Type, block.Labels[0], text(src, block.Body, "provider"))
	return nil
}

// call adds a module call, which must be local.
func (p *partsReader) call(src []byte, block *hclsyntax.Block) error {
	if len(block.Labels) != 1 {
		return errLabels(p.dir, block)
	}
	name, attribute := block.Labels[0], block.Body.Attributes["source"]
	if attribute == nil || block.Body.Attributes["version"] != nil {
		return unclear(p.dir, "the module %q does not have a source, or has a version", name)
	}
	source, ok := literalString(attribute.Expr)
	if !ok {
		return unclear(p.dir, "the source of the module %q is computed", name)
	}
	if !below(source) || !isLocal(source) {
		return unclear(p.dir, "the module %q is remote", name)
	}
	if _, twice := p.calls[name]; twice {
		return unclear(p.dir, "the module %q is called twice", name)
	}
	p.calls[name] = source
	p.add("module %q %q %q", name, source, text(src, block.Body, "providers"))
	return nil
}

// terraform adds settings of the tool as they are written, if they are literal.
func (p *partsReader) terraform(src []byte, block *hclsyntax.Block) error {
	for _, inner := range block.Body.Blocks {
		switch inner.Type {
		case "required_providers", "provider_meta":
			continue
		case "backend":
			if computed(inner.Body) {
				return unclear(p.dir, "its backend is computed")
			}
		default:
			return unclear(p.dir, "it has settings (%s) for which init may need more than the files", inner.Type)
		}
	}
	if computed(&hclsyntax.Body{Attributes: block.Body.Attributes}) {
		// Names of language features look like references. They are recorded, so their meaning does
		// not matter.
		for name := range block.Body.Attributes {
			if name != "experiments" && name != "language" {
				return unclear(p.dir, "its setting %q is computed", name)
			}
		}
	}
	p.add("%s", textOf(src, block))
	return nil
}

// computed reports whether a body contains references or function calls.
func computed(body *hclsyntax.Body) bool {
	found := false
	_ = hclsyntax.VisitAll(body, func(node hclsyntax.Node) hcl.Diagnostics {
		switch node.(type) {
		case *hclsyntax.ScopeTraversalExpr, *hclsyntax.FunctionCallExpr:
			found = true
		}
		return nil
	})
	return found
}

func errLabels(dir string, block *hclsyntax.Block) error {
	return unclear(dir, "a block %q has %d labels", block.Type, len(block.Labels))
}

// text returns the source of an attribute's value; empty if it is missing.
func text(src []byte, body *hclsyntax.Body, name string) string {
	attribute := body.Attributes[name]
	if attribute == nil {
		return ""
	}
	return string(attribute.Expr.Range().SliceBytes(src))
}

func textOf(src []byte, block *hclsyntax.Block) string {
	return string(hcl.RangeBetween(block.TypeRange, block.CloseBraceRange).SliceBytes(src))
}
