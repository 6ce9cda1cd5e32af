// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

const (
	// maxDepth is the maximum depth of directories.
	maxDepth = 100
	// maxTarget is Linux's maximum length of a link's target.
	maxTarget = 4095
	// maxLeftOut is the maximum number of reported links.
	maxLeftOut = 10
)

// checkout selects a part of a tree.
type checkout struct {
	sparse     []string
	submodules bool
}

// budget is the rest of a checkout's limits, submodules included.
type budget struct {
	bytes, entries int64
	modules        int
	// leftOut lists the first few links out of the tree, relative to their own repository.
	leftOut []string
}

// submodule is a place in a tree for another repository.
type submodule struct {
	path   string
	commit plumbing.Hash
}

// checkout writes the tree of t to dir, and returns links that it excluded.
func (m *mirror) checkout(ctx context.Context, t target, c checkout, dir string) (leftOut []string, err error) {
	left := &budget{bytes: m.all.options.MaxTree, entries: m.all.options.MaxEntries, modules: maxModules}
	err = m.place(ctx, t, c, dir, left, 0)
	return left.leftOut, err
}

// place writes a tree to a directory, and then the trees of its submodules.
func (m *mirror) place(ctx context.Context, t target, c checkout, dir string, left *budget, depth int) error {
	var places []submodule
	var modules []byte
	err := m.with(ctx, t, func(o *objects) error {
		if err := clearDir(dir); err != nil {
			return err
		}
		attempt := *left
		w := &treeWriter{ctx: ctx, objects: o, left: &attempt, maxObject: m.all.options.MaxObject, sparse: c.sparse}
		err := w.checkout(t.commit, dir)
		if err == nil && c.submodules && len(w.submodules) > 0 {
			modules, err = w.config(t.commit)
		}
		if err == nil {
			places, *left = w.submodules, attempt
		}
		return err
	})
	if err != nil || !c.submodules || len(places) == 0 {
		return err
	}
	return m.placeSubmodules(ctx, places, modules, dir, left, depth)
}

// clearDir removes the remains of an earlier attempt.
func clearDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	return err
}

// treeWriter writes one tree. It cannot leave its root.
type treeWriter struct {
	ctx        context.Context
	objects    *objects
	root       *os.Root
	left       *budget
	maxObject  int64
	sparse     []string
	met        map[string]bool
	submodules []submodule
}

func (w *treeWriter) checkout(commit plumbing.Hash, dir string) error {
	tree, err := w.objects.root(commit)
	if err != nil {
		return err
	}
	if w.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	defer w.root.Close()
	w.met = map[string]bool{}
	if err := w.directory(tree, ".", 0); err != nil {
		return err
	}
	for _, dir := range w.sparse {
		if !w.met[dir] {
			return &upstream.Problem{Text: fmt.Sprintf("the directory %q of sparseCheckout is not in commit %s", dir, commit), Content: true}
		}
	}
	return nil
}

// wanted reports whether a path is selected, or leads to a selected one.
func (w *treeWriter) wanted(name string) (inside, leads bool) {
	if len(w.sparse) == 0 {
		return true, true
	}
	for _, dir := range w.sparse {
		if name == dir {
			w.met[dir] = true
		}
		if name == dir || strings.HasPrefix(name, dir+"/") {
			inside = true
		}
		if strings.HasPrefix(dir, name+"/") {
			leads = true
		}
	}
	return inside, leads || inside
}

func (w *treeWriter) directory(tree plumbing.Hash, name string, depth int) error {
	if depth > maxDepth {
		return inTree(name, "the directories are nested too deeply")
	}
	entries, err := w.objects.tree(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		full := path.Join(name, e.name)
		if err := checkName(e.name); err != nil {
			return inTree(full, err.Error())
		}
		inside, leads := w.wanted(full)
		if !inside && (e.mode != modeDir || !leads) {
			continue
		}
		if w.left.entries--; w.left.entries < 0 {
			return tooBig("it has more files and directories than the limit allows")
		}
		if err := w.entry(e, full, depth); err != nil {
			return err
		}
	}
	return nil
}

// checkName accepts a single name, but not the names of git's own files.
func checkName(name string) error {
	switch {
	case name == "" || name == "." || name == ".." || strings.Contains(name, "/"):
		return errors.New("it is not a valid name of a file")
	case len(name) > 255:
		return errors.New("the name has more than 255 bytes")
	case strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1"):
		return errors.New("git reserves this name, and never puts it into a tree")
	}
	return nil
}

func (w *treeWriter) entry(e treeEntry, full string, depth int) error {
	local := filepath.FromSlash(full)
	switch e.mode {
	case modeDir:
		if err := w.root.Mkdir(local, 0o755); err != nil {
			return placed(full, err)
		}
		return w.directory(e.hash, full, depth+1)
	case modeSubmodule:
		w.submodules = append(w.submodules, submodule{full, e.hash})
		return placed(full, w.root.Mkdir(local, 0o755))
	case modeLink:
		_, target, err := w.objects.read(e.hash, maxTarget)
		if err != nil {
			return err
		}
		if !staysInside(full, string(target)) {
			if len(w.left.leftOut) < maxLeftOut {
				w.left.leftOut = append(w.left.leftOut, full)
			}
			return nil
		}
		return placed(full, w.root.Symlink(filepath.FromSlash(string(target)), local))
	case "100644", "100755", "100664":
		return w.file(e, full)
	}
	return inTree(full, fmt.Sprintf("its mode %q is not that of a file, a directory or a link", e.mode))
}

func (w *treeWriter) file(e treeEntry, full string) error {
	object, err := w.objects.open(e.hash, w.maxObject)
	if err != nil {
		return err
	}
	if w.left.bytes -= object.Size(); w.left.bytes < 0 {
		return tooBig("its files have more bytes than the limit allows")
	}
	mode := os.FileMode(0o644)
	if e.mode == "100755" {
		mode = 0o755
	}
	f, err := w.root.OpenFile(filepath.FromSlash(full), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return placed(full, err)
	}
	return errors.Join(w.objects.write(f, object, e.hash), f.Close())
}

// placed explains a failure to create an entry.
func placed(full string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return inTree(full, "the tree contains it twice")
	}
	return err
}

// config reads .gitmodules.
func (w *treeWriter) config(commit plumbing.Hash) ([]byte, error) {
	tree, err := w.objects.root(commit)
	if err != nil {
		return nil, err
	}
	entries, err := w.objects.tree(tree)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.name == ".gitmodules" && (e.mode == "100644" || e.mode == "100755") {
			_, content, err := w.objects.read(e.hash, maxText)
			return content, err
		}
	}
	return nil, nil
}

// staysInside reports whether a link stays in the tree wherever other links lead: ".." is allowed
// only at the beginning. Archives have the same rule.
func staysInside(name, target string) bool {
	if target == "" || strings.HasPrefix(target, "/") || strings.ContainsAny(target, "\x00\\") {
		return false
	}
	depth, down := strings.Count(name, "/"), false
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; down || depth < 0 {
				return false
			}
		default:
			down = true
		}
	}
	return true
}
