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
)

const (
	// maxDepth is how deep directories may lie in each other.
	maxDepth = 100
	// maxTarget is how long a link's target may be; Linux takes no longer one.
	maxTarget = 4095
)

// treeError says what in a tree is not acceptable.
type treeError struct{ path, reason string }

func (e *treeError) Error() string { return fmt.Sprintf("%q: %s", e.path, e.reason) }

// checkout is what of a tree is asked for.
type checkout struct {
	sparse     []string
	submodules bool
}

// budget is what a checkout may still cost, submodules included.
type budget struct {
	bytes, entries int64
	modules        int
	// leftOut names links that lead out of the tree, the first few. Those of repositories inside
	// are named from there.
	leftOut []string
}

// maxLeftOut is how many links are named that were left out.
const maxLeftOut = 10

// submodule is a place in a tree where another repository belongs.
type submodule struct {
	path   string
	commit plumbing.Hash
}

// checkout puts the tree of t into dir, and names links that it left out.
func (m *mirror) checkout(ctx context.Context, t target, c checkout, dir string) (leftOut []string, err error) {
	left := &budget{bytes: m.all.options.MaxTree, entries: m.all.options.MaxEntries, modules: maxModules}
	err = m.place(ctx, t, c, dir, left, 0)
	return left.leftOut, err
}

// place puts a tree into a directory, and the trees of repositories inside of it after that.
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

// clearDir removes what an attempt before left.
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

// treeWriter writes one tree below a root that cannot be left.
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
			return &refError{text: fmt.Sprintf("the directory %q of sparseCheckout is not in commit %s", dir, commit)}
		}
	}
	return nil
}

// wanted tells whether a path is asked for, or leads to what is.
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
		return &treeError{name, "the directories lie too deep in each other"}
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
			return &treeError{full, err.Error()}
		}
		inside, leads := w.wanted(full)
		if !inside && (e.mode != modeDir || !leads) {
			continue
		}
		if w.left.entries--; w.left.entries < 0 {
			return fmt.Errorf("%w: it has more files and directories than the limit allows", errTooBig)
		}
		if err := w.entry(e, full, depth); err != nil {
			return err
		}
	}
	return nil
}

// checkName accepts what is one name in a directory, but none that git keeps its own things under.
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
	return &treeError{full, fmt.Sprintf("its mode %q is not that of a file, a directory or a link", e.mode)}
}

func (w *treeWriter) file(e treeEntry, full string) error {
	object, err := w.objects.open(e.hash, w.maxObject)
	if err != nil {
		return err
	}
	if w.left.bytes -= object.Size(); w.left.bytes < 0 {
		return fmt.Errorf("%w: its files have more bytes than the limit allows", errTooBig)
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

// placed explains why there was no place for an entry.
func placed(full string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return &treeError{full, "the tree has it twice"}
	}
	return err
}

// config reads the file that says where submodules come from.
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

// staysInside tells whether a link leads to a place in the tree wherever other links lead: ".." may
// stand at its beginning only. Archives have the same rule.
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
