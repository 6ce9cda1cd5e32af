// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package docsite

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// home is the source of the map of all pages.
const home = "README.md"

// Docs are the pages of the documentation.
type Docs struct {
	files    fs.FS
	pages    []*Page
	bySource map[string]*Page
	byPath   map[string]*Page
	chapters []Chapter
	index    func() *Index

	mu       sync.Mutex
	rendered map[*Page]*Rendered
	recent   []*Page
}

// kept is the number of rendered pages that are kept.
const kept = 32

// Page is a page.
type Page struct {
	// Source and Path are where it is in docs/ and in the site.
	Source, Path string
	Title        string
	// Chapter is the title of its chapter; empty if it has none.
	Chapter string
	text    []byte
	// at is its place in the order of all pages.
	at int
}

// Chapter is a part of the map.
type Chapter struct {
	Title string
	Pages []Entry
}

// Entry is a page in a chapter, under the name that the map gives it.
type Entry struct {
	*Page
	Name string
}

// Read reads the pages.
func Read(files fs.FS) (*Docs, error) {
	d := &Docs{files: files, bySource: map[string]*Page{}, byPath: map[string]*Page{}, rendered: map[*Page]*Rendered{}}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		p := &Page{Source: name, Path: pathOf(name), text: data, Title: titleOf(data)}
		if p.Title == "" {
			return fmt.Errorf("%s has no title: no line starts with \"# \"", name)
		}
		d.bySource[p.Source], d.byPath[p.Path] = p, p
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the documentation: %w", err)
	}
	if d.bySource[home] == nil {
		return nil, fmt.Errorf("read the documentation: there is no %s", home)
	}
	d.arrange()
	d.index = sync.OnceValue(d.makeIndex)
	return d, nil
}

// pathOf is where the page of a source is.
func pathOf(source string) string {
	dir, name := path.Split(source)
	if name == home {
		return dir + "index.html"
	}
	return strings.TrimSuffix(source, ".md") + ".html"
}

// titleOf is the first heading of a page.
func titleOf(data []byte) string {
	for line := range strings.Lines(string(data)) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			return strings.ReplaceAll(strings.TrimSpace(title), "`", "")
		}
	}
	return ""
}

// arrange orders the pages as the map does, and those that it does not name after them.
func (d *Docs) arrange() {
	d.pages = []*Page{d.bySource[home]}
	source := d.bySource[home].text
	walk(parse(source), func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				d.chapters = append(d.chapters, Chapter{Title: wordsOf(n, source)})
			}
		case *ast.Link:
			target, _, _ := strings.Cut(string(n.Destination), "#")
			p := d.bySource[path.Clean(target)]
			if p == nil || len(d.chapters) == 0 || slices.Contains(d.pages, p) {
				return
			}
			chapter := &d.chapters[len(d.chapters)-1]
			p.Chapter = chapter.Title
			chapter.Pages = append(chapter.Pages, Entry{p, wordsOf(n, source)})
			d.pages = append(d.pages, p)
		}
	})
	var rest []*Page
	for _, p := range d.bySource {
		if !slices.Contains(d.pages, p) {
			rest = append(rest, p)
		}
	}
	slices.SortFunc(rest, func(a, b *Page) int { return strings.Compare(a.Source, b.Source) })
	d.pages = append(d.pages, rest...)
	for i, p := range d.pages {
		p.at = i
	}
}

// Pages are all pages in order.
func (d *Docs) Pages() []*Page { return d.pages }

// Chapters are the map.
func (d *Docs) Chapters() []Chapter { return d.chapters }

// Find returns the page at a path of the site. It also knows a page by its source, and without an
// extension.
func (d *Docs) Find(at string) (*Page, bool) {
	if at == "" || strings.HasSuffix(at, "/") {
		at += "index.html"
	}
	for _, p := range []*Page{d.byPath[at], d.bySource[at], d.byPath[at+".html"]} {
		if p != nil {
			return p, true
		}
	}
	return nil, false
}

// Before and After are the neighbours of a page, or nil.
func (d *Docs) Before(p *Page) *Page { return d.neighbour(p.at - 1) }

// After is the page after a page, or nil.
func (d *Docs) After(p *Page) *Page { return d.neighbour(p.at + 1) }

func (d *Docs) neighbour(at int) *Page {
	if at < 0 || at >= len(d.pages) {
		return nil
	}
	return d.pages[at]
}

// Extras are the files that pages lead to and that are no pages, in order.
func (d *Docs) Extras() ([]string, error) {
	found := map[string]bool{}
	for _, p := range d.pages {
		walk(parse(p.text), func(n ast.Node) {
			var destination string
			switch n := n.(type) {
			case *ast.Link:
				destination = string(n.Destination)
			case *ast.Image:
				destination = string(n.Destination)
			}
			if name, ok := inside(p.Source, destination); ok && d.bySource[name] == nil {
				if info, err := fs.Stat(d.files, name); err == nil && !info.IsDir() {
					found[name] = true
				}
			}
		})
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// Open reads a file that is no page.
func (d *Docs) Open(name string) ([]byte, error) { return fs.ReadFile(d.files, name) }

// inside resolves a link of a page to a file of docs/. ok is false for others.
func inside(source, destination string) (string, bool) {
	target, _, _ := strings.Cut(destination, "#")
	if target == "" || strings.Contains(target, ":") || strings.HasPrefix(target, "/") {
		return "", false
	}
	name := path.Join(path.Dir(source), target)
	return name, !strings.HasPrefix(name, "../") && name != ".."
}

func walk(n ast.Node, do func(ast.Node)) {
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { //nolint:errcheck // the function returns none
		if entering {
			do(n)
		}
		return ast.WalkContinue, nil
	})
}

// wordsOf is the text of a node without markup.
func wordsOf(n ast.Node, source []byte) string {
	var b strings.Builder
	walk(n, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		}
	})
	return b.String()
}

func parse(source []byte) ast.Node {
	return markdown.Parser().Parse(text.NewReader(source), withIDs())
}
