// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Call is a reference of one module to another, as it is written.
type Call struct {
	Source, Version string
}

// Local reports whether the called module is in the same source.
func (c Call) Local() bool { return below(c.Source) }

// below reports whether a module's source is a path relative to its caller.
func below(source string) bool {
	return strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../")
}

var callSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "module", LabelNames: []string{"name"}}}}

// maxCallsSize limits what is read of one tree of modules; each module has its own limit, too.
const maxCallsSize = 4 * maxTotalSize

// CallReader reads which modules call which in a tree, each module once. Not safe for concurrent
// use.
type CallReader struct {
	fsys    fs.FS
	options ReadOptions
	size    int
	read    map[string]readCalls
}

// readCalls is the result for one directory.
type readCalls struct {
	calls map[string]Call
	err   error
}

// NewCallReader returns a reader for a tree. The file system must not follow links out of it.
func NewCallReader(fsys fs.FS, options ReadOptions) *CallReader {
	return &CallReader{fsys: fsys, options: options, read: map[string]readCalls{}}
}

// Calls returns the modules that the one in dir calls, by name. An *UnclearError says that the list
// may be incomplete, as for a root module with tests, or that a source or version is computed.
func (r *CallReader) Calls(dir string, root bool) (map[string]Call, error) {
	dir = path.Clean(dir)
	done, there := r.read[dir]
	if !there {
		done.calls, done.err = r.readOnce(dir, root)
		r.read[dir] = done
	}
	return done.calls, done.err
}

func (r *CallReader) readOnce(dir string, root bool) (calls map[string]Call, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = unclear(dir, "reading stopped: %v. This is a bug in Yuba", problem)
		}
	}()
	if r.size > maxCallsSize {
		return nil, unclear(dir, "the modules' files have more than %d MiB", maxCallsSize>>20)
	}
	reader := &requirer{fsys: r.fsys, options: r.options}
	files, err := reader.files(dir, root)
	r.size += reader.size
	if err != nil {
		return nil, err
	}
	primary, override := selectFiles(files)
	p := newParser()
	calls = map[string]Call{}
	for i, name := range slices.Concat(primary, override) {
		file := p.parse(name, files[name])
		if file == nil || p.diags.HasErrors() {
			return nil, unclear(dir, "%s is invalid; the tool explains it", name)
		}
		content, _, diags := file.Body.PartialContent(callSchema)
		if diags.HasErrors() {
			return nil, unclear(dir, "%s is invalid; the tool explains it", name)
		}
		for _, block := range content.Blocks {
			if err := readCall(calls, dir, block, i >= len(primary)); err != nil {
				return nil, err
			}
		}
	}
	for name, call := range calls {
		if call.Source == "" {
			return nil, unclear(dir, "the module %q does not have a source", name)
		}
	}
	return calls, nil
}

// readCall adds a block, or applies an override to it.
func readCall(calls map[string]Call, dir string, block *hcl.Block, override bool) error {
	name := block.Labels[0]
	call, there := calls[name]
	if there != override || !hclsyntax.ValidIdentifier(name) {
		return unclear(dir, "the module %q is called twice, only overridden, or has an invalid name", name)
	}
	for attributeName, value := range map[string]*string{"source": &call.Source, "version": &call.Version} {
		a := attribute(block, attributeName)
		if a == nil {
			continue
		}
		text, ok := literalString(a.Expr)
		if !ok || strings.Contains(text, "${") || strings.Contains(text, "%{") { // strings in JSON are evaluated, too
			return unclear(dir, "the %s of the module %q is computed", attributeName, name)
		}
		*value = text
	}
	calls[name] = call
	return nil
}

// LocalSource returns the source of a local call in the notation that tools use.
func LocalSource(source string) string {
	cleaned := path.Clean(source)
	if strings.HasPrefix(cleaned, "../") {
		return cleaned
	}
	return "./" + cleaned
}
