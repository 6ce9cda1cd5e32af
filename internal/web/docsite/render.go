// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package docsite

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	defaults "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/yuba-dev/yuba/internal/web/docsite/colour"
	"github.com/yuba-dev/yuba/internal/web/docsite/diagram"
)

// Rendered is a page as HTML.
type Rendered struct {
	*Page
	// Body is the page after its title.
	Body template.HTML
	// Headings are those of the second level.
	Headings []Heading
}

// Heading is a place on a page.
type Heading struct{ ID, Text string }

// The text alignment of a table's cells is an attribute: policies forbid the style that is the default.
var tables = extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))

// markdown parses what GitHub shows, as far as the pages use it. HTML in a page is left out.
var markdown = goldmark.New(goldmark.WithExtensions(tables, extension.Linkify), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// Render returns a page as HTML.
func (d *Docs) Render(p *Page) (*Rendered, error) {
	d.mu.Lock()
	r := d.rendered[p]
	d.mu.Unlock()
	if r != nil {
		return r, nil
	}
	r, err := d.render(p)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rendered[p] == nil {
		d.rendered[p] = r
		d.recent = append(d.recent, p)
		if len(d.recent) > kept {
			delete(d.rendered, d.recent[0])
			d.recent = slices.Delete(d.recent, 0, 1)
		}
	}
	return r, nil
}

func (d *Docs) render(p *Page) (*Rendered, error) {
	root := parse(p.text)
	r := &Rendered{Page: p, Headings: headingsOf(root, p.text, 2)}
	// The frame shows the title.
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if first, ok := n.(*ast.Heading); ok && first.Level == 1 {
			root.RemoveChild(root, first)
			break
		}
	}
	w := &writer{docs: d, page: p}
	out := renderer.NewRenderer(renderer.WithNodeRenderers(util.Prioritized(w, 100), util.Prioritized(extension.NewTableHTMLRenderer(
		extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), 500), util.Prioritized(defaults.NewRenderer(), 1000)))
	var b bytes.Buffer
	if err := out.Render(&b, p.text, root); err != nil {
		return nil, fmt.Errorf("render %s: %w", p.Source, err)
	}
	r.Body = template.HTML(b.String()) //nolint:gosec // goldmark escapes text and omits HTML, and the pages are the program's own
	return r, nil
}

// headingsOf returns the headings of one level.
func headingsOf(root ast.Node, source []byte, level int) []Heading {
	var headings []Heading
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == level {
			headings = append(headings, Heading{idOf(h), wordsOf(h, source)})
		}
	}
	return headings
}

func idOf(n ast.Node) string {
	if id, ok := n.AttributeString("id"); ok {
		if id, ok := id.([]byte); ok {
			return string(id)
		}
	}
	return ""
}

// writer writes what goldmark would write otherwise.
type writer struct {
	docs *Docs
	page *Page
}

// RegisterFuncs implements renderer.NodeRenderer.
func (w *writer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, w.heading)
	r.Register(ast.KindLink, w.link)
	r.Register(ast.KindImage, w.image)
	r.Register(ast.KindFencedCodeBlock, w.code)
	r.Register(extast.KindTable, w.table)
	r.Register(ast.KindHTMLBlock, w.nothing)
	r.Register(ast.KindRawHTML, w.nothing)
}

func (w *writer) heading(out util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h, id := n.(*ast.Heading), html.EscapeString(idOf(n))
	if entering {
		fmt.Fprintf(out, `<h%d id="%s">`, h.Level, id) //nolint:errcheck // out keeps its error
	} else {
		fmt.Fprintf(out, ` <a class="anchor" href="#%s" aria-label="Link to this heading">#</a></h%d>`+"\n", id, h.Level) //nolint:errcheck // as above
	}
	return ast.WalkContinue, nil
}

// link rewrites links between pages. Those that lead out of docs/ become text.
func (w *writer) link(out util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	destination := string(n.(*ast.Link).Destination)
	target, leads := w.target(destination)
	switch {
	case leads && entering:
		out.WriteString(`<a href="` + html.EscapeString(string(util.URLEscape([]byte(target), false))) + `">`) //nolint:errcheck // out keeps its error
	case leads:
		out.WriteString("</a>") //nolint:errcheck // as above
	case !entering:
		out.WriteString(` <span class="soft">(<code>` + html.EscapeString(target) + "</code>)</span>") //nolint:errcheck // as above
	}
	return ast.WalkContinue, nil
}

// target is where a link of the page leads to in the site; otherwise leads is false, and it is a path in
// the repository.
func (w *writer) target(destination string) (target string, leads bool) {
	if strings.HasPrefix(destination, "#") || strings.HasPrefix(destination, "https://") || strings.HasPrefix(destination, "http://") {
		return destination, true
	}
	_, anchor, _ := strings.Cut(destination, "#")
	if anchor != "" {
		anchor = "#" + anchor
	}
	name, ok := inside(w.page.Source, destination)
	if ok {
		if p := w.docs.bySource[name]; p != nil {
			return Relative(w.page.Path, p.Path) + anchor, true
		}
		if info, err := fs.Stat(w.docs.files, name); err == nil && !info.IsDir() {
			return Relative(w.page.Path, name), true
		}
	}
	if name == "" {
		return destination, false
	}
	return path.Join("docs", name), false
}

func (w *writer) image(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	target, leads := w.target(string(n.(*ast.Image).Destination))
	what := html.EscapeString(wordsOf(n, source))
	if leads {
		fmt.Fprintf(out, `<img src="%s" alt="%s" loading="lazy">`, html.EscapeString(target), what) //nolint:errcheck // out keeps its error
	} else {
		fmt.Fprintf(out, `<span class="soft">Picture: %s (<code>%s</code>)</span>`, what, html.EscapeString(target)) //nolint:errcheck // as above
	}
	return ast.WalkSkipChildren, nil
}

func (w *writer) code(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := n.(*ast.FencedCodeBlock)
	code := string(block.Lines().Value(source))
	language := string(block.Language(source))
	if language == "mermaid" {
		if picture, err := diagram.SVG(code); err == nil {
			out.WriteString(`<figure class="diagram"><div class="scroll" tabindex="0">` + picture + "</div><figcaption><details><summary>The diagram as text</summary><pre>" + //nolint:errcheck // out keeps its error
				html.EscapeString(code) + "</pre></details></figcaption></figure>\n")
			return ast.WalkSkipChildren, nil
		}
		language = ""
	}
	ready := ""
	if language == "sh" {
		ready = " data-copy"
	}
	out.WriteString(`<pre class="code" tabindex="0"` + ready + ">" + colour.HTML(language, code) + "</pre>\n") //nolint:errcheck // as above
	return ast.WalkSkipChildren, nil
}

// table lets wide tables scroll.
func (w *writer) table(out util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		out.WriteString(`<div class="scroll" tabindex="0"><table>` + "\n") //nolint:errcheck // out keeps its error
	} else {
		out.WriteString("</table></div>\n") //nolint:errcheck // as above
	}
	return ast.WalkContinue, nil
}

// nothing leaves HTML out, such as comments.
func (w *writer) nothing(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

// Relative is the way from one path of the site to another.
func Relative(from, to string) string {
	a, b := strings.Split(path.Dir(from), "/"), strings.Split(path.Dir(to), "/")
	if a[0] == "." {
		a = nil
	}
	if b[0] == "." {
		b = nil
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return strings.Repeat("../", len(a)) + strings.Join(append(slices.Clone(b), path.Base(to)), "/")
}

// ids gives headings the ids that GitHub gives them, so that anchors work in both places.
type ids map[string]int

func withIDs() parser.ParseOption {
	return parser.WithContext(parser.NewContext(parser.WithIDs(ids{})))
}

// Generate implements parser.IDs. The value is the heading's source.
func (i ids) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(plainHeading(value))) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	id := b.String()
	n := i[id]
	i[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
		i[id]++
	}
	return []byte(id)
}

// plainHeading is the text of a heading's source: links in it count with their texts only.
func plainHeading(source []byte) string {
	if !bytes.Contains(source, []byte("](")) {
		return string(source)
	}
	return wordsOf(goldmark.DefaultParser().Parse(text.NewReader(source)), source)
}

// Put implements parser.IDs.
func (i ids) Put(value []byte) { i[string(value)]++ }
