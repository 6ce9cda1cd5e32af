// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Limits of what is read of a module. Large modules have a few hundred KiB of configuration; hostile
// configuration takes a second of a core for each MiB.
const (
	maxConfigFiles = 10_000
	maxConfigBytes = 4 << 20
	maxReadme      = 256 << 10
	// maxReadmes limits the READMEs that are returned, and maxReadmesRead those in memory.
	maxReadmes     = 2 << 20
	maxReadmesRead = 16 << 20
	// maxValueFiles limits the files that a warning names.
	maxValueFiles = 5
)

// DefaultLimits are the limits of a module's archive.
var DefaultLimits = archive.Limits{MaxPacked: 1 << 30, MaxUnpacked: 4 << 30, MaxEntries: 50_000, MaxRatio: 200}

// Read inspects the archive of a module. It returns an *Error for an archive that is not a module,
// and another error if reading failed for a different reason.
func Read(ctx context.Context, r io.Reader, limits archive.Limits) (*Module, error) {
	c := &contents{tree: newTree()}
	if err := archive.Walk(ctx, r, limits, "", c.add); err != nil {
		if archive.IsInvalid(err) && ctx.Err() == nil {
			return nil, &Error{Reason: reasonOf(err)}
		}
		return nil, err
	}
	stripped, err := c.root()
	if err != nil {
		return nil, err
	}
	files := c.tree
	if stripped != "" {
		files = files.below(stripped)
	}
	m := &Module{Files: c.files, Unpacked: c.bytes, Stripped: stripped}
	if err := newSurvey(files).module(ctx, m); err != nil {
		return nil, err
	}
	m.Warnings = append(m.Warnings, c.warnings()...)
	return m, nil
}

// reasonOf returns the part of a reader's error that is about the archive.
func reasonOf(err error) string {
	var entry *archive.EntryError
	var limit *archive.LimitError
	var format *archive.FormatError
	switch {
	case errors.As(err, &entry):
		return "the archive is refused: " + entry.Error()
	case errors.As(err, &limit):
		return "the archive is refused: " + limit.Error()
	case errors.As(err, &format):
		return "the archive cannot be read: " + format.Error()
	}
	return err.Error()
}

// ReadDir inspects a directory, without the files that are not packed.
func ReadDir(ctx context.Context, dir string) (*Module, error) {
	r, w := io.Pipe()
	defer r.Close()
	go func() {
		_, _, err := archive.Pack(ctx, dir, w, archive.PackOptions{MaxPacked: DefaultLimits.MaxPacked})
		w.CloseWithError(err)
	}()
	kept := &remembered{r: r}
	m, err := Read(ctx, kept, DefaultLimits)
	if kept.err != nil {
		return nil, kept.err
	}
	return m, err
}

// remembered keeps the error of a reader: the archive is not to blame for it.
type remembered struct {
	r   io.Reader
	err error
}

func (r *remembered) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		r.err = err
	}
	return n, err
}

// contents are the relevant files of an archive.
type contents struct {
	tree  *tree
	files int
	bytes int64
	// top are the names at the archive's root; true for directories.
	top map[string]bool
	// config and readmes are their sizes.
	config, readmes int64
	values          []string
}

func (c *contents) add(e archive.Entry) error {
	if e.Name == "." {
		return nil
	}
	first, _, deeper := strings.Cut(e.Name, "/")
	if c.top == nil {
		c.top = map[string]bool{}
	}
	c.top[first] = c.top[first] || deeper || e.Dir
	switch {
	case e.Link != "":
		return &archive.EntryError{Name: e.Name, Reason: "links are not accepted in modules, because tofu does not unpack them; put a copy of the file there"}
	case e.Dir:
		return nil
	}
	c.files++
	c.bytes += e.Size
	base := path.Base(e.Name)
	switch {
	case isValueFile(base):
		if len(c.values) < maxValueFiles {
			c.values = append(c.values, e.Name)
		}
		return nil
	case !module.IsConfigFile(base) && !isReadme(base):
		return nil
	case len(c.tree.files) >= maxConfigFiles:
		return &archive.LimitError{What: "the number of configuration files", Limit: maxConfigFiles}
	}
	if isReadme(base) {
		return c.addReadme(e)
	}
	text, err := io.ReadAll(io.LimitReader(e.Content, maxConfigBytes-c.config+1))
	if err != nil {
		return err
	}
	if c.config += int64(len(text)); c.config > maxConfigBytes {
		return &archive.LimitError{What: "the size of all configuration files in bytes", Limit: maxConfigBytes}
	}
	c.tree.put(e.Name, text)
	return nil
}

// addReadme keeps the beginning of a README.
func (c *contents) addReadme(e archive.Entry) error {
	text, err := io.ReadAll(io.LimitReader(e.Content, min(maxReadme, maxReadmesRead-c.readmes)))
	if err != nil || len(text) == 0 {
		return err
	}
	c.readmes += int64(len(text))
	c.tree.put(e.Name, text)
	return nil
}

func isValueFile(base string) bool {
	return strings.HasSuffix(base, ".tfvars") || strings.HasSuffix(base, ".tfvars.json")
}

// readmes are the names of READMEs in lower case, the best first.
var readmes = []string{"readme.md", "readme.markdown", "readme", "readme.txt", "readme.adoc", "readme.rst"}

func isReadme(base string) bool { return slices.Contains(readmes, strings.ToLower(base)) }

// meaningful are the directories of a module whose names have a meaning.
var meaningful = []string{"modules", "examples", "tests", "test"}

// root returns the directory around the module, which is usually empty.
func (c *contents) root() (string, error) {
	if c.tree.isModule(".") {
		return "", nil
	}
	var names []string
	for name, dir := range c.top {
		if dir {
			name += "/"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	const want = "a module has files ending in .tf or .tofu in the archive's root"
	if len(names) == 0 {
		return "", &Error{Reason: "the archive is empty: " + want}
	}
	single, dir := strings.CutSuffix(names[0], "/")
	switch {
	case len(names) > 1 && len(c.roots()) > 1:
		return "", &Error{Reason: fmt.Sprintf("the archive has several modules side by side (%s): publish each as a module of its own, from its own directory", list(c.roots()))}
	case len(names) == 1 && dir && !slices.Contains(meaningful, single) && c.tree.isModule(single):
		return single, nil
	case len(names) == 1 && dir && c.tree.isModule(single):
		return "", &Error{Reason: fmt.Sprintf("the archive has only the directory %s/, whose name has a meaning in a module: %s", single, want)}
	}
	return "", &Error{Reason: fmt.Sprintf("the archive's root has no configuration files (it has %s): %s", list(names), want)}
}

// roots returns the top directories that are modules.
func (c *contents) roots() []string {
	var names []string
	for name, dir := range c.top {
		if dir && c.tree.isModule(name) {
			names = append(names, name+"/")
		}
	}
	slices.Sort(names)
	return names
}

// list joins a few names.
func list(names []string) string {
	const most = 5
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += ", …"
	}
	return text
}

func (c *contents) warnings() []string {
	if len(c.values) == 0 {
		return nil
	}
	slices.Sort(c.values)
	return []string{fmt.Sprintf("the archive contains values of variables (%s), which tofu does not read in a called module, and which may be secret; name them in .terraformignore", list(c.values))}
}

// bestReadme returns the README of a directory's files, or nil.
func bestReadme(files map[string][]byte) []byte {
	var best string
	for name := range files {
		i := slices.Index(readmes, strings.ToLower(name))
		if i < 0 {
			continue
		}
		j := slices.Index(readmes, strings.ToLower(best))
		if best == "" || cmp.Or(cmp.Compare(i, j), cmp.Compare(name, best)) < 0 {
			best = name
		}
	}
	return files[best]
}
