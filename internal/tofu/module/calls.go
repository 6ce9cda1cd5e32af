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

// Call is where a module says that another one comes from, as it is written.
type Call struct {
	Source, Version string
}

// Local tells whether the module that is called is in the same source as the one that calls.
func (c Call) Local() bool {
	return strings.HasPrefix(c.Source, "./") || strings.HasPrefix(c.Source, "../")
}

var callSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "module", LabelNames: []string{"name"}}}}

// maxCallsSize is how much is read of one tree of modules: of each no more than of others, and of all together this.
const maxCallsSize = 4 * maxTotalSize

// CallReader reads which modules call which in a tree of them, each once. What is in the tree may change where nothing
// was read yet. It is for one goroutine.
type CallReader struct {
	fsys    fs.FS
	options ReadOptions
	size    int
	read    map[string]readCalls
}

// readCalls is what was read of one directory.
type readCalls struct {
	calls map[string]Call
	err   error
}

// NewCallReader returns a reader for a tree. The file system must not follow links out of it.
func NewCallReader(fsys fs.FS, options ReadOptions) *CallReader {
	return &CallReader{fsys: fsys, options: options, read: map[string]readCalls{}}
}

// Calls reads which modules the one in dir calls, by name. An *UnclearError says that these may not be all, or that a
// source or version is computed. What tests of a root module call is unclear in any case.
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
	p := &parser{module: empty(), files: map[string]*hcl.File{}, variables: map[string]*draft{}}
	calls = map[string]Call{}
	for i, name := range slices.Concat(primary, override) {
		file := p.parse(name, files[name])
		if file == nil || p.diags.HasErrors() {
			return nil, unclear(dir, "%s has mistakes, which the tool says better", name)
		}
		content, _, diags := file.Body.PartialContent(callSchema)
		if diags.HasErrors() {
			return nil, unclear(dir, "%s has mistakes, which the tool says better", name)
		}
		for _, block := range content.Blocks {
			if err := readCall(calls, dir, block, i >= len(primary)); err != nil {
				return nil, err
			}
		}
	}
	for name, call := range calls {
		if call.Source == "" {
			return nil, unclear(dir, "the module %q has no source", name)
		}
	}
	return calls, nil
}

// readCall takes in a block, or what an override says over it.
func readCall(calls map[string]Call, dir string, block *hcl.Block, override bool) error {
	name := block.Labels[0]
	call, there := calls[name]
	if there != override || !hclsyntax.ValidIdentifier(name) {
		return unclear(dir, "the module %q is called twice, is overridden only, or has no good name", name)
	}
	for attributeName, value := range map[string]*string{"source": &call.Source, "version": &call.Version} {
		a := attribute(block, attributeName)
		if a == nil {
			continue
		}
		text, ok := literalString(a.Expr)
		if !ok || strings.Contains(text, "${") || strings.Contains(text, "%{") { // texts in JSON are evaluated, too
			return unclear(dir, "the %s of the module %q is computed", attributeName, name)
		}
		*value = text
	}
	calls[name] = call
	return nil
}

// LocalSource is the source of a call in the same source, in the form in which tools write it down.
func LocalSource(source string) string {
	cleaned := path.Clean(source)
	if strings.HasPrefix(cleaned, "../") {
		return cleaned
	}
	return "./" + cleaned
}
