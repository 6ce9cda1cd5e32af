// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// maxDeclared limits Declared.
const maxDeclared = 1000

var declaredSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "resource", LabelNames: []string{"type", "name"}},
	{Type: "module", LabelNames: []string{"name"}},
}}

// Declared lists the resources of the root module in dir and its local modules, as addresses
// without keys, and remote calls. files are the source's configuration by path.
func Declared(files map[string][]byte, dir string) (addresses []string) {
	d := declarer{dirs: map[string]map[string][]byte{}}
	for name, content := range files {
		of := path.Dir(path.Clean(name))
		if d.dirs[of] == nil {
			d.dirs[of] = map[string][]byte{}
		}
		d.dirs[of][path.Base(name)] = content
	}
	d.walk(path.Clean(orDot(dir)), "", 0)
	slices.Sort(d.found)
	return slices.Compact(d.found)
}

func orDot(dir string) string {
	if dir = strings.Trim(dir, "/"); dir == "" {
		return "."
	}
	return dir
}

// declarer walks a tree of modules.
type declarer struct {
	dirs  map[string]map[string][]byte
	found []string
	calls int
}

func (d *declarer) add(address string) {
	if len(d.found) < maxDeclared {
		d.found = append(d.found, address)
	}
}

func (d *declarer) walk(dir, prefix string, depth int) {
	if d.calls++; d.calls > maxCalls || depth > maxCallDepth {
		return
	}
	for _, block := range blocksOf(d.dirs[dir]) {
		if block.Type == "resource" {
			d.add(prefix + block.Labels[0] + "." + block.Labels[1])
			continue
		}
		place := prefix + "module." + block.Labels[0]
		from := ""
		if a := attribute(block, "source"); a != nil {
			from, _ = literalString(a.Expr) // treat a computed source as remote
		}
		inner := path.Join(dir, from)
		if !isLocal(from) || d.dirs[inner] == nil {
			d.add(place)
			continue
		}
		d.walk(inner, place+".", depth+1)
	}
}

// blocksOf returns the resources and calls of one directory. It skips invalid files.
func blocksOf(files map[string][]byte) (blocks hcl.Blocks) {
	defer func() {
		if r := recover(); r != nil { // configuration may be hostile, and this must not fail
			blocks = nil
		}
	}()
	primary, override := selectFiles(files)
	for _, name := range slices.Concat(primary, override) {
		p := newParser()
		file := p.parse(name, files[name])
		if file == nil || file.Body == nil {
			continue
		}
		content, _, _ := file.Body.PartialContent(declaredSchema)
		for _, block := range content.Blocks {
			if labelled(block) {
				blocks = append(blocks, block)
			}
		}
	}
	return blocks
}

// labelled reports whether a block's labels are valid names: they are shown to people.
func labelled(block *hcl.Block) bool {
	return !slices.ContainsFunc(block.Labels, func(label string) bool { return !identifier.MatchString(label) })
}

var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,254}$`)
