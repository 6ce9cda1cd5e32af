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

// Reads says what planning a root module can read beside the values it is given: which part of its source, and what of
// the world. It is told from the configuration alone, so it is told with caution: whoever is unsure reads everything.
//
// For what the language itself reads, the answer holds. What a provider reads is known as far as paths are written out
// in the configuration, or in the files that the provider is given.
type Reads struct {
	// Dirs are the directories whose files, and those below, are all of the source that is read; "." is its root. They are
	// sorted, and none lies below another. They mean nothing when Whole is set.
	Dirs []string
	// Whole says why any file of the source may be read; empty when none beside Dirs is.
	Whole string
	// World names what is read of the world while planning, such as "data.http.ip at main.tf:3".
	World []string
	// Variables are the root module's variables that paths are made of: they decide which files are read.
	Variables []string
	// Modules are the directories of the modules, the root's first. The other fields already cover the files that their
	// configuration names.
	Modules []string
	// Templates are the files that are rendered as templates, AnyTemplate says that any file may be.
	Templates   []string
	AnyTemplate bool
	// Elsewhere are the calls of modules from elsewhere. The other fields do not cover what those modules read.
	Elsewhere []RemoteCall
}

// RemoteCall is a call of a module from elsewhere, whose source and version are written out.
type RemoteCall struct {
	Call
	// Name is what the module is called by, Pos where.
	Name string
	Pos  Position
}

// String says that nobody has looked into what is called.
func (c RemoteCall) String() string {
	return fmt.Sprintf("module.%s, which comes from elsewhere, at %s", c.Name, c.Pos)
}

// maxWorld is how much of what a program reads of the world is named.
const maxWorld = 20

// Reader tells what the modules of one source read. Directories are looked into once each; it may be used by many
// goroutines.
type Reader struct {
	// config returns the configuration files in a directory, by base name.
	config func(dir string) map[string][]byte

	mu   sync.Mutex
	dirs map[string]*dirReads
}

// NewReader reads a source through a function that returns the configuration files ([IsConfigFile]) of a directory, by
// base name. Links must not be among them.
func NewReader(config func(dir string) map[string][]byte) *Reader {
	return &Reader{config: config, dirs: map[string]*dirReads{}}
}

// Of says what the root module in a directory reads ("." for the source's root).
func (r *Reader) Of(dir string) Reads {
	dir = path.Clean(dir)
	return r.follow(dir, r.dir(dir))
}

// With says what the root module in a directory reads when other files join it, or take the place of its own. Whoever
// puts them there knows best what belongs to them, so the whole source counts.
func (r *Reader) With(dir string, files map[string][]byte) Reads {
	reads := r.follow(path.Clean(dir), readDir(path.Clean(dir), files))
	if reads.Whole == "" {
		reads.Whole = "files that are not the source's are put into its directory"
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

// follow goes through a root module and the local modules that it calls.
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
	if d.blind && at != root { // behind a link perhaps
		s.world(fmt.Sprintf("the module in %s, which cannot be looked into", at))
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
		s.whole("%s: which file is read depends on var.%s, a module's variable", d.variables[names[0]], names[0])
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

// outermost sorts directories and leaves out those that lie below another.
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

// Within reports whether a file or directory is a directory, or lies below it.
func Within(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// LeavesDirectory reports whether a text has ".." as a part of a path, in plain sight or behind an escape.
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
	for _, escape := range []string{`\u002e`, `\u002E`, `\x2e`, `\x2E`, "%2e", "%2E"} {
		if strings.Contains(text, escape) {
			return true
		}
	}
	return false
}

// inName reports whether a character beside ".." makes it part of a longer name.
func inName(c byte) bool {
	return c == '.' || c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
