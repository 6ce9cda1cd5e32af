// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Limits of a tree of modules, and of the tool's list of them.
const (
	MaxCalls     = 500
	MaxDepth     = 32
	MaxTreeBytes = 1 << 30
	MaxListBytes = 4 << 20
)

// Installed is an entry of [List].
type Installed struct {
	Key     string `json:"Key"`
	Source  string `json:"Source"`
	Version string `json:"Version,omitempty"`
	Dir     string `json:"Dir"`
}

// List is the tool's list of modules, .terraform/modules/modules.json.
type List struct {
	Modules []Installed `json:"Modules"`
}

// Digest is the SHA-256 of the list, in hexadecimal, in any order.
func (l *List) Digest() string {
	sorted := slices.SortedFunc(slices.Values(l.Modules), func(a, b Installed) int { return strings.Compare(a.Key, b.Key) })
	text, _ := json.Marshal(sorted) // texts always marshal
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// installedDir is where the tool installs modules, relative to the root module.
const installedDir = ".terraform/modules"

// Found returns the modules of other origins in the list, with the calls that led to them. It leaves
// out calls that it cannot read, and modules outside of the tool's directory.
func (l *List) Found(files fs.FS, tool string) []Found {
	r := &fetchedReader{tool: tool, files: files, installed: map[string]Installed{},
		reader: module.NewCallReader(files, module.ReadOptions{Terraform: tool == "terraform"})}
	for _, m := range l.Modules {
		r.installed[m.Key] = m
	}
	r.read(".", "", 0)
	return r.found
}

// fetchedReader follows the calls from a root module.
type fetchedReader struct {
	reader    *module.CallReader
	tool      string
	files     fs.FS
	installed map[string]Installed
	calls     int
	found     []Found
}

func (r *fetchedReader) read(dir, key string, depth int) {
	calls, err := r.reader.Calls(dir, false)
	if err != nil || depth > MaxDepth {
		return
	}
	for name, call := range calls {
		place := strings.TrimPrefix(key+"."+name, ".")
		m, there := r.installed[place]
		if r.calls++; !there || r.calls > MaxCalls {
			continue
		}
		if !call.Local() {
			pkg := installedDir + "/" + place
			inside, below := strings.CutPrefix(m.Dir, pkg)
			if !below || inside != "" && inside[0] != '/' || inside != "" && !filepath.IsLocal(inside[1:]) {
				continue
			}
			r.found = append(r.found, Found{Call: Call{Tool: r.tool, Source: call.Source, Version: call.Version},
				FoundSource: m.Source, FoundVersion: m.Version, Package: pkg, Dir: path.Clean("./" + inside), Commit: commitOf(r.files, pkg)})
		}
		r.read(path.Clean(m.Dir), place, depth+1)
	}
}
