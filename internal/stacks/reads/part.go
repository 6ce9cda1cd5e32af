// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"path"
	"slices"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Most commits touch few stacks of a source. So a stack's configuration counts only the part of the
// archive that its root module can read: its directory, local modules, and files of values; the
// whole archive if that is not certain. Runs get only that part, so the rest cannot change a plan.

// part is the relevant part of a source for a stack.
type part struct {
	// digest changes with every file of the part. If it is empty, the whole source counts, and why
	// is the reason.
	digest, why string
	// dirs and files are the part's content.
	dirs, files []string
	// world names the external data that the program reads while planning.
	world []string
	// variables are the variables in paths.
	variables []string
	// elsewhere are the calls of remote modules, whose files are not in the source.
	elsewhere []module.RemoteCall
	// unsettled would be the digest if these were known to be settled. loose is true if they may
	// change although init does not search for newer ones.
	unsettled string
	loose     bool
}

// Marks of text files.
const (
	// markLeaves: it contains a path that leads up.
	markLeaves uint8 = 1 << iota
	// markReads and markWorld: as a template, it would read files, or external data.
	markReads
	markWorld
	// markOpaque: it is too large to analyze.
	markOpaque
)

// mark analyzes a text as a template, and as a document that a provider may follow.
func mark(text []byte) uint8 {
	var m uint8
	reads := module.ReadText(text)
	if reads.Leaves {
		m |= markLeaves
	}
	if reads.Files {
		m |= markReads
	}
	if reads.World {
		m |= markWorld
	}
	return m
}

// tree is the analyzed archive of a source.
type tree struct {
	index  *archive.Index
	reader *module.Reader
	// why is the reason why the tree is unknown; empty if it is known.
	why string
}

func newTree(x *archive.Index) *tree {
	return &tree{index: x, reader: module.NewReader(func(dir string) map[string][]byte {
		files := map[string][]byte{}
		for _, f := range x.Below(dir) {
			if path.Dir(f.Name) != dir || !module.IsConfigFile(f.Name) {
				continue
			}
			if content, found := x.Content(f.Name); found {
				files[path.Base(f.Name)] = content
			}
		}
		return files
	})}
}

// part finds the part of the source that counts for a root module with these files of values.
func (t *tree) part(dir string, varFiles []string) part {
	if t.why != "" {
		return part{why: t.why}
	}
	reads := t.reader.Of(cmp.Or(dir, "."))
	p := part{why: reads.Whole, dirs: reads.Dirs, files: varFiles, world: reads.World, variables: reads.Variables, elsewhere: reads.Elsewhere}
	c := &counting{part: &p, hash: sha256.New(), anyTemplate: reads.AnyTemplate, templates: setOf(reads.Templates), modules: setOf(reads.Modules)}
	h := c.hash
	hashDirs(h, reads.Dirs)
	for _, dir := range reads.Dirs {
		below := t.index.Below(dir)
		if len(below) == 0 {
			p.whole("the source has nothing in %s", dir)
		}
		for i := range below {
			c.count(&below[i])
		}
	}
	for _, name := range reads.Templates {
		f, ok := t.index.Get(name)
		if !ok || f.Dir || f.Link != "" || !p.has(name) {
			p.whole("the template %s cannot be analyzed", name)
		}
		if ok && !p.has(name) && f.Marked&(markWorld|markOpaque) != 0 {
			p.world = append(p.world, "the template "+name)
		}
	}
	for _, name := range varFiles {
		f, ok := t.index.Get(name)
		if !ok || f.Dir || f.Link != "" || f.Marked&(markLeaves|markOpaque) != 0 {
			p.whole("the values file %s cannot be analyzed", name)
		}
		hashValues(h, &f)
	}
	if slices.Contains(reads.Dirs, ".") {
		p.whole("the root module is the source's root")
	}
	if p.why == "" {
		p.digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	return p
}

func (p *part) whole(format string, args ...any) {
	if p.why == "" {
		p.why = fmt.Sprintf(format, args...)
	}
}

// has reports whether a file belongs to the part by its directory.
func (p *part) has(name string) bool {
	return slices.ContainsFunc(p.dirs, func(dir string) bool { return module.Within(name, dir) })
}

// counting is a part in progress.
type counting struct {
	part               *part
	hash               hash.Hash
	templates, modules map[string]bool
	anyTemplate        bool
}

// count adds a file of the part to the digest, and checks whether the file leads out of the part.
func (c *counting) count(f *archive.IndexedFile) {
	p := c.part
	hashEntry(c.hash, f)
	template := c.anyTemplate || c.templates[f.Name]
	configures := module.IsConfigFile(f.Name) && c.modules[path.Dir(f.Name)]
	switch {
	case f.Dir:
	case f.Link != "":
		if target := path.Join(path.Dir(f.Name), f.Link); configures || !p.has(target) {
			p.whole("the link %s leads out of the module's directories", f.Name)
		}
	case template:
		if f.Marked&(markLeaves|markReads|markOpaque) != 0 && !(configures && f.Marked&markReads == 0) {
			p.whole("the template %s may read any file", f.Name)
		}
		if f.Marked&(markWorld|markOpaque) != 0 {
			p.world = append(p.world, "the template "+f.Name)
		}
	case configures || module.ForPeople(f.Name):
	case f.Marked&(markLeaves|markOpaque) != 0:
		p.whole("%s may refer to other files", f.Name)
	}
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// hashDirs, hashEntry and hashValues write the input of a part's digest. Statuses contain digests,
// so the format must not change.
func hashDirs(h io.Writer, dirs []string) { fmt.Fprintf(h, "yuba part 1 %q\n", dirs) }

func hashEntry(h io.Writer, f *archive.IndexedFile) {
	fmt.Fprintf(h, "%q %v %v %q %x\n", f.Name, f.Dir, f.Executable, f.Link, f.Sum)
}

func hashValues(h io.Writer, f *archive.IndexedFile) { fmt.Fprintf(h, "values %q %x\n", f.Name, f.Sum) }

// has reports whether this archive has the identical part, so that nothing needs to be read again.
func (t *tree) has(p *part) bool {
	if t.why != "" || p.digest == "" {
		return false
	}
	h := sha256.New()
	hashDirs(h, p.dirs)
	for _, dir := range p.dirs {
		below := t.index.Below(dir)
		for i := range below {
			hashEntry(h, &below[i])
		}
	}
	for _, name := range p.files {
		f, ok := t.index.Get(name)
		if !ok {
			return false
		}
		hashValues(h, &f)
	}
	return p.digest == "sha256:"+hex.EncodeToString(h.Sum(nil))
}

// place is a module's place in any archive.
func (k moduleKey) place() moduleKey {
	k.digest = ""
	return k
}

// asBefore returns the module as last read at this place, if its part has not changed.
func (s *Sources) asBefore(t *tree, key moduleKey) *readModule {
	s.mu.Lock()
	before := s.modules[s.latest[key.place()]]
	s.mu.Unlock()
	if before == nil || !t.has(&before.part) {
		return nil
	}
	return before
}
