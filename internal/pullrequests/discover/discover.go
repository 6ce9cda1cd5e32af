// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Tree is the content of a source.
type Tree struct {
	// Sums has a digest of content and mode for each file and link, by its path.
	Sums map[string]string
	// Config returns the configuration files in a directory, by base name.
	Config func(dir string) map[string][]byte
}

// Overlay is a tree with another one's directory From at To, as includes of sources are.
func Overlay(base, other Tree, from, to string) Tree {
	from, to = clean(from), clean(to)
	out := Tree{Sums: map[string]string{}, Config: func(dir string) map[string][]byte {
		if module.Within(clean(dir), to) {
			return other.Config(path.Join(from, strings.TrimPrefix(relative(clean(dir), to), "/")))
		}
		return base.Config(dir)
	}}
	for name, sum := range base.Sums {
		if !module.Within(name, to) {
			out.Sums[name] = sum
		}
	}
	for name, sum := range other.Sums {
		if module.Within(name, from) {
			out.Sums[path.Join(to, relative(name, from))] = sum
		}
	}
	return out
}

func clean(dir string) string { return strings.TrimPrefix(path.Join("/", dir), "/") }

// relative is a path below a directory.
func relative(name, dir string) string {
	if dir == "" || dir == "." {
		return name
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, dir), "/")
}

// Stack is a stack that follows the source.
type Stack struct {
	// Name is namespace/name, Path its root module's directory.
	Name, Path string
	// Rendered are files that are not in the source, by base name, such as those that the stack has inline.
	Rendered map[string][]byte
	// Also are further files that it reads, such as files of values.
	Also []string
}

// Affected is a stack that the pull request can change.
type Affected struct {
	Name string
	// Files are some of the changed files that it can read, in order; More is the number of others.
	Files []string
	More  int
	// Whole is why any file counts; empty if only its part does.
	Whole string
	// Missing says that the root module's directory is not in the tree after.
	Missing bool
}

// maxFiles limits the files that are named for each stack.
const maxFiles = 20

// Changed lists the files that differ, in order.
func Changed(before, after Tree) []string {
	var out []string
	for name, sum := range before.Sums {
		if now, ok := after.Sums[name]; !ok || now != sum {
			out = append(out, name)
		}
	}
	for name := range after.Sums {
		if _, ok := before.Sums[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Stacks finds the stacks whose part differs, in the order of their names.
func Stacks(before, after Tree, stacks []Stack) []Affected {
	changed := Changed(before, after)
	if len(changed) == 0 {
		return nil
	}
	readers := [2]*module.Reader{module.NewReader(before.Config), module.NewReader(after.Config)}
	dirs := dirsOf(after)
	var out []Affected
	for _, s := range stacks {
		a := Affected{Name: s.Name}
		dir := orRoot(clean(s.Path))
		var reads []module.Reads
		for i, tree := range []Tree{before, after} {
			reads = append(reads, readsBy(readers[i], tree, s))
		}
		for _, name := range changed {
			if !within(name, reads, &a) {
				continue
			}
			if len(a.Files) < maxFiles {
				a.Files = append(a.Files, name)
			} else {
				a.More++
			}
		}
		if len(a.Files) > 0 {
			a.Missing = dir != "." && !dirs[dir]
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b Affected) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Sum identifies the files that a stack can read in a tree: their paths, contents and modes.
func Sum(tree Tree, s Stack) string {
	reads := readsBy(module.NewReader(tree.Config), tree, s)
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(tree.Sums)) {
		if within(name, []module.Reads{reads}, &Affected{}) {
			fmt.Fprintf(h, "%q %q\n", name, tree.Sums[name])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// readsBy is what a stack can read in a tree.
func readsBy(reader *module.Reader, tree Tree, s Stack) module.Reads {
	r := readsOf(reader, tree, orRoot(clean(s.Path)), s.Rendered)
	for _, name := range s.Also {
		r.Dirs = append(r.Dirs, clean(name))
	}
	return r
}

// readsOf is what a stack's root module reads in a tree.
func readsOf(reader *module.Reader, tree Tree, dir string, rendered map[string][]byte) module.Reads {
	if len(rendered) == 0 {
		return reader.Of(dir)
	}
	files := maps.Clone(tree.Config(dir))
	if files == nil {
		files = map[string][]byte{}
	}
	maps.Copy(files, rendered)
	return reader.With(dir, files)
}

// within reports whether a stack reads a file, before or after.
func within(name string, reads []module.Reads, a *Affected) bool {
	for _, r := range reads {
		switch {
		case r.Whole != "":
			a.Whole = r.Whole
			return true
		// A template can name any file.
		case r.AnyTemplate:
			a.Whole = "it renders templates whose names are not known"
			return true
		case slices.ContainsFunc(r.Dirs, func(dir string) bool { return module.Within(name, dir) }):
			return true
		}
	}
	return false
}

// dirsOf are all directories of a tree.
func dirsOf(tree Tree) map[string]bool {
	out := map[string]bool{}
	for name := range tree.Sums {
		for dir := path.Dir(name); dir != "." && !out[dir]; dir = path.Dir(dir) {
			out[dir] = true
		}
	}
	return out
}

// Manifest is an object that a Kustomization makes.
type Manifest struct {
	// Kind, Namespace and Name identify it.
	Kind, Namespace, Name string
	// Fields are its fields by path, such as spec.path, with values in JSON.
	Fields map[string]string
}

func (m Manifest) id() [3]string { return [3]string{m.Kind, m.Namespace, m.Name} }

// Field is a changed field. An absent one is empty.
type Field struct{ Path, Before, After string }

// Difference is what becomes of a manifest.
type Difference struct {
	Kind, Namespace, Name string
	Created, Deleted      bool
	// Fields are the fields that differ, in order; all of a new one's.
	Fields []Field
}

// Compare lists the manifests that differ, in the order of kind, namespace and name.
func Compare(before, after []Manifest) []Difference {
	old, now := map[[3]string]Manifest{}, map[[3]string]Manifest{}
	for _, m := range before {
		old[m.id()] = m
	}
	for _, m := range after {
		now[m.id()] = m
	}
	ids := maps.Clone(old)
	maps.Copy(ids, now)
	var out []Difference
	for id := range ids {
		was, existed := old[id]
		is, exists := now[id]
		d := Difference{Kind: id[0], Namespace: id[1], Name: id[2], Created: !existed, Deleted: !exists}
		if exists {
			d.Fields = fields(was.Fields, is.Fields)
		}
		if d.Created || d.Deleted || len(d.Fields) > 0 {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b Difference) int {
		return slices.Compare([]string{a.Kind, a.Namespace, a.Name}, []string{b.Kind, b.Namespace, b.Name})
	})
	return out
}

func fields(before, after map[string]string) []Field {
	paths := maps.Clone(before)
	if paths == nil {
		paths = map[string]string{}
	}
	maps.Copy(paths, after)
	var out []Field
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if before[p] != after[p] {
			out = append(out, Field{p, before[p], after[p]})
		}
	}
	return out
}
