// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// Reads describes what a plan of a root module can read besides its inputs: which part of its
// source, and which external data. It is derived from the configuration alone, conservatively: in
// doubt, everything is read.
//
// For the language itself, the answer is exact. What a provider reads is known only for paths in
// the configuration, or in files that the provider gets.
type Reads struct {
	// Dirs are the only directories of the source that are read, with everything below; "." is its
	// root. They are sorted, and none is below another. They are meaningless if Whole is set.
	Dirs []string
	// Whole says why any file of the source may be read; empty if only Dirs are.
	Whole string
	// World lists external data that is read while planning, such as "data.http.ip at main.tf:3".
	World []string
	// Variables are the root module's variables in paths: they decide which files are read.
	Variables []string
	// Modules are the modules' directories, the root module first. The other fields include the
	// files that their configuration names.
	Modules []string
	// Templates are the rendered template files. AnyTemplate says that any file may be one.
	Templates   []string
	AnyTemplate bool
	// Elsewhere are the calls of remote modules. The other fields do not include what those read.
	Elsewhere []RemoteCall
}

// RemoteCall is a call of a remote module with literal source and version.
type RemoteCall struct {
	Call
	// Name is the name of the call, Pos its position.
	Name string
	Pos  Position
}

// String describes a call that was not inspected.
func (c RemoteCall) String() string {
	return fmt.Sprintf("remote module.%s at %s", c.Name, c.Pos)
}

// maxWorld limits the listed external data.
const maxWorld = 20

// Reader determines what the modules of one source read. It inspects each directory once, and is
// safe for concurrent use.
type Reader struct {
	// config returns the configuration files in a directory, by base name.
	config func(dir string) map[string][]byte

	mu   sync.Mutex
	dirs map[string]*dirReads
}

// NewReader returns a reader for a source. config returns the configuration files ([IsConfigFile])
// of a directory, by base name, without links.
func NewReader(config func(dir string) map[string][]byte) *Reader {
	return &Reader{config: config, dirs: map[string]*dirReads{}}
}

// Of describes what the root module in a directory reads ("." for the source's root).
func (r *Reader) Of(dir string) Reads {
	dir = path.Clean(dir)
	return r.follow(dir, r.dir(dir))
}

// With describes what the root module in a directory reads if other files are added or replace its
// own. They may refer to anything, so the whole source counts.
func (r *Reader) With(dir string, files map[string][]byte) Reads {
	reads := r.follow(path.Clean(dir), readDir(path.Clean(dir), files))
	if reads.Whole == "" {
		reads.Whole = "files from outside of the source are added to its directory"
	}
	for _, call := range reads.Elsewhere {
		reads.world(call.String())
	}
	return reads
}

func (r *Reader) dir(dir string) *dirReads {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.dirs[dir]; known != nil {
		return known
	}
	d := readDir(dir, r.config(dir))
	r.dirs[dir] = d
	return d
}

// follow visits a root module and the local modules that it calls.
func (r *Reader) follow(dir string, root *dirReads) Reads {
	var reads Reads
	seen := map[string]bool{dir: true}
	for queue := []string{dir}; len(queue) > 0; queue = queue[1:] {
		at, d := queue[0], root
		if at != dir {
			d = r.dir(at)
		}
		reads.Modules = append(reads.Modules, at)
		reads.take(dir, at, d)
		for _, call := range d.calls {
			inner := path.Join(at, call.source)
			switch {
			case inner == ".." || strings.HasPrefix(inner, "../"):
				reads.whole("%s: the module %q is outside of the source", call.pos, call.name)
			case !seen[inner] && len(seen) >= maxCalls:
				reads.whole("it calls more than %d modules", maxCalls)
			case !seen[inner]:
				seen[inner] = true
				queue = append(queue, inner)
			}
		}
	}
	reads.Dirs = outermost(reads.Modules)
	slices.Sort(reads.Variables)
	reads.Variables = slices.Compact(reads.Variables)
	slices.Sort(reads.Templates)
	reads.Templates = slices.Compact(reads.Templates)
	return reads
}

// take adds what the module in a directory reads.
func (s *Reads) take(root, at string, d *dirReads) {
	if d.whole != "" {
		s.whole("%s", d.whole)
	}
	if d.blind && at != root { // perhaps behind a link
		s.world(fmt.Sprintf("the module in %s, which cannot be inspected", at))
	}
	for _, w := range d.world {
		s.world(w)
	}
	s.Elsewhere = append(s.Elsewhere, d.elsewhere...)
	names := slices.Sorted(maps.Keys(d.variables))
	switch {
	case len(names) == 0:
	case at == root:
		s.Variables = append(s.Variables, names...)
	default:
		s.whole("%s: var.%s, a module's variable, decides which file is read", d.variables[names[0]], names[0])
	}
	for _, t := range d.templates {
		base := at
		if t.fromRoot {
			base = root
		}
		s.Templates = append(s.Templates, path.Join(base, t.name))
	}
	s.AnyTemplate = s.AnyTemplate || d.anyTemplate
}

func (s *Reads) world(what string) {
	if len(s.World) < maxWorld {
		s.World = append(s.World, what)
	}
}

func (s *Reads) whole(format string, args ...any) {
	if s.Whole == "" {
		s.Whole = fmt.Sprintf(format, args...)
	}
}

// outermost sorts directories and drops those below others.
func outermost(dirs []string) []string {
	sorted := slices.Sorted(slices.Values(dirs))
	var out []string
	for _, dir := range sorted {
		if !slices.ContainsFunc(out, func(above string) bool { return Within(dir, above) }) {
			out = append(out, dir)
		}
	}
	return out
}

// Within reports whether name is dir or below it.
func Within(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// LeavesDirectory reports whether a text contains ".." as a part of a path, also behind escapes.
func LeavesDirectory(text string) bool {
	for rest, from := text, 0; ; {
		i := strings.Index(rest, "..")
		if i < 0 {
			break
		}
		begin, end := from+i, from+i+2
		before, after := begin == 0 || !inName(text[begin-1]), end == len(text) || !inName(text[end])
		if before && after {
			return true
		}
		from = begin + 1
		rest = text[from:]
	}
	return slices.ContainsFunc([]string{`\u002e`, `\u002E`, `\x2e`, `\x2E`, "%2e", "%2E"},
		func(escape string) bool { return strings.Contains(text, escape) })
}

// inName reports whether a character beside ".." makes it part of a longer name.
func inName(c byte) bool {
	return c == '.' || c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
