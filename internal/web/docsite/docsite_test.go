// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package docsite

import (
	"bytes"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/yuba-dev/yuba/docs"
	"github.com/yuba-dev/yuba/internal/web/assets"
)

// ours are the documentation of the repository and its site.
var ours = sync.OnceValues(func() (*Docs, map[string][]byte) {
	d, err := Read(docs.Files)
	if err != nil {
		panic(err)
	}
	files, err := d.Site("v1.2.3")
	if err != nil {
		panic(err)
	}
	return d, files
})

// facts are what the test of links looks at in a page.
type facts struct {
	ids        map[string]int
	links, bad []string
	levels     []int
}

func factsOf(t *testing.T, page []byte) facts {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	f := facts{ids: map[string]int{}}
	for n := range root.Descendants() {
		if n.Type == html.CommentNode {
			f.bad = append(f.bad, "a comment: "+n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		if len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] >= '1' && n.Data[1] <= '6' {
			f.levels = append(f.levels, int(n.Data[1]-'0'))
		}
		src := false
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				f.ids[a.Val]++
			case a.Key == "href" || a.Key == "src" || a.Key == "action" || a.Key == "data-index":
				f.links = append(f.links, a.Val)
				src = src || a.Key == "src"
				if n.Data != "a" && strings.Contains(a.Val, ":") {
					f.bad = append(f.bad, "loads "+a.Val)
				}
			case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
				f.bad = append(f.bad, "the attribute "+a.Key)
			}
		}
		if n.Data == "style" || n.Data == "script" && !src {
			f.bad = append(f.bad, "inline "+n.Data)
		}
	}
	return f
}

// Every link and every anchor of every page leads somewhere, and nothing is loaded from elsewhere.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	_, files := ours()
	pages := map[string]facts{}
	for name, data := range files {
		if path.Ext(name) == ".html" {
			pages[name] = factsOf(t, data)
		}
	}
	checked := 0
	for name, f := range pages {
		for _, bad := range f.bad {
			t.Errorf("%s has %s", name, bad)
		}
		for id, n := range f.ids {
			if n > 1 {
				t.Errorf("%s has %d elements with the id %q", name, n, id)
			}
		}
		last := 0
		for _, level := range f.levels {
			if level > last+1 {
				t.Errorf("%s: a heading of level %d follows one of level %d", name, level, last)
			}
			last = level
		}
		for _, link := range f.links {
			u, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: the link %q: %v", name, link, err)
				continue
			}
			if u.Scheme != "" {
				continue
			}
			checked++
			to := name
			if u.Path != "" {
				to = path.Join(path.Dir(name), u.Path)
			}
			if files[to] == nil {
				t.Errorf("%s: the link %s leads nowhere", name, link)
				continue
			}
			if u.Fragment != "" && pages[to].ids[u.Fragment] == 0 {
				t.Errorf("%s: %s has no heading for the link %s", name, to, link)
			}
		}
	}
	if len(pages) < 150 || checked < 5000 {
		t.Errorf("checked %d links of %d pages only", checked, len(pages))
	}
}

func TestTheSameFilesMakeTheSameBytes(t *testing.T) {
	_, first := ours()
	d, err := Read(docs.Files)
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.Site("v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for name := range first {
		if !bytes.Equal(first[name], second[name]) {
			t.Errorf("%s differs", name)
		}
	}
	if !slices.Equal(slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second))) {
		t.Error("the files differ")
	}
}

func TestBudgets(t *testing.T) {
	_, files := ours()
	for name, most := range map[string]int{IndexPath: 330_000, "docs.js": 4096, "how-to/drift.html": 40_000} {
		if n := len(files[name]); n == 0 || n > most {
			t.Errorf("%s has %d bytes, at most %d are allowed", name, n, most)
		}
	}
	if n := len(assets.Read("docs.js")) + len(assets.Read("yuba.js")); n > 20<<10 {
		t.Errorf("all scripts have %d bytes", n)
	}
}

// The diagrams of the pages are drawn: none is shown as text because it uses something new.
func TestEveryDiagramIsDrawn(t *testing.T) {
	d, files := ours()
	drawn := 0
	for _, p := range d.Pages() {
		want := strings.Count(string(p.text), "```mermaid\n")
		if got := strings.Count(string(files[p.Path]), `<svg class="drawn"`); got != want {
			t.Errorf("%s: %d of %d diagrams are drawn", p.Source, got, want)
		}
		drawn += want
	}
	if drawn < 10 {
		t.Errorf("%d diagrams", drawn)
	}
}

func TestSearch(t *testing.T) {
	d, _ := ours()
	for query, want := range map[string]string{
		"drift":                  "how-to/drift.html",
		"approve plans":          "how-to/approve-plans.html",
		"APPROVE":                "how-to/approve-plans.html",
		"glossary":               "reference/glossary.html",
		"atlantis":               "how-to/from-atlantis.html",
		"driftDetectionInterval": "how-to/drift.html",
		"slack":                  "how-to/slack-alerts.html",
		"backup restore":         "how-to/backup-and-restore.html",
		"how to backup":          "how-to/backup-and-restore.html",
		"kubect":                 "how-to/use-kubectl.html",
		"yuba graph":             "reference/cli/yuba_graph.html",
		"blast rad":              "how-to/blast-radius.html",
		"":                       "",
		"the":                    "",
		"zzzqqq":                 "",
		"drift zzzqqq":           "",
	} {
		got := ""
		if found := d.Index().Search(query); len(found) > 0 {
			got = found[0].Path
		}
		if got != want {
			t.Errorf("%q finds %q first, want %q", query, got, want)
		}
	}
	for _, f := range d.Index().Search("state lock") {
		if len(f.Headings) > 3 || len(f.Brief) > brief+3 || f.Title == "" {
			t.Errorf("found: %+v", f)
		}
	}
}

// site makes a site of few files.
func site(t *testing.T, pairs ...string) map[string][]byte {
	t.Helper()
	files := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		files[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	d, err := Read(files)
	if err != nil {
		t.Fatal(err)
	}
	all, err := d.Site("")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLinks(t *testing.T) {
	all := site(t, home, "# Home\n\n## One\n\n[A](a/one.md)\n", "data.json", "{}", "pictures/x.png", "x", "a/one.md", "# One\n\n## Two *words*\n\nHere: "+
		"[map](../README.md#one) [self](#two-words) [out](../../examples/a/README.md) [data](../data.json) [gone](gone.md) [web](https://example.com/a?b=c&d) "+
		"![p](../pictures/x.png) ![q](../pictures/y.png) [bad](javascript:alert) <b>bold</b>\n")
	page := string(all["a/one.html"])
	for _, want := range []string{
		`<a href="../index.html#one">map</a>`, `<a href="#two-words">self</a>`, `out <span class="soft">(<code>examples/a/README.md</code>)</span>`,
		`<a href="../data.json">data</a>`, `gone <span class="soft">(<code>docs/a/gone.md</code>)</span>`, `<a href="https://example.com/a?b=c&amp;d">web</a>`,
		`<img src="../pictures/x.png" alt="p" loading="lazy">`, `Picture: q (<code>docs/pictures/y.png</code>)`, `<h2 id="two-words">Two <em>words</em>`,
		`<a href="one.html" aria-current="page">A</a>`, `bad <span class="soft">(<code>javascript:alert</code>)</span>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	for _, never := range []string{"<b>", "href=\"javascript", "raw HTML"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %s", never)
		}
	}
	want := []string{"a/one.html", "data.json", "docs.js", "index.html", "pictures/x.png", "search-index.js", "search.html", "style.css", "yuba.svg"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(all))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// Anchors are those of GitHub, so that links work in both places.
func TestHeadingsHaveTheIDsOfGitHub(t *testing.T) {
	text := "# A\n\n## When `yuba up` refuses\n\n## What's new?\n\n## Same\n\n## Same\n\n## `--accept-loss` (careful)\n\n## See [the map](x.md)\n\n## Über uns\n\n## a_b: c\n"
	var got []string
	for _, h := range headingsOf(parse([]byte(text)), []byte(text), 2) {
		got = append(got, h.ID)
	}
	want := []string{"when-yuba-up-refuses", "whats-new", "same", "same-1", "--accept-loss-careful", "see-the-map", "über-uns", "a_b-c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

func TestRelative(t *testing.T) {
	for _, c := range [][3]string{
		{"index.html", "a.html", "a.html"}, {"a/b.html", "index.html", "../index.html"}, {"a/b.html", "a/c.html", "c.html"},
		{"a/b/c.html", "a/d.html", "../d.html"}, {"a/b.html", "c/d/e.html", "../c/d/e.html"}, {"x.html", "a/index.html", "a/index.html"},
	} {
		if got := Relative(c[0], c[1]); got != c[2] {
			t.Errorf("from %s to %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestPagesAreFoundUnderTheirNames(t *testing.T) {
	d, _ := ours()
	for at, want := range map[string]string{"": "README.md", "index.html": "README.md", "how-to/drift.html": "how-to/drift.md", "how-to/drift": "how-to/drift.md",
		"how-to/drift.md": "how-to/drift.md", "reference/cli/": "reference/cli/README.md", "how-to/nothing": "", "../docs": ""} {
		got := ""
		if p, ok := d.Find(at); ok {
			got = p.Source
		}
		if got != want {
			t.Errorf("%q is %q, want %q", at, got, want)
		}
	}
}

func TestRenderedPagesAreBounded(t *testing.T) {
	d, err := Read(docs.Files)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Pages() {
		if _, err := d.Render(p); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.rendered) != kept || len(d.recent) != kept {
		t.Errorf("%d pages are kept, want %d", len(d.rendered), kept)
	}
}

func TestADirectoryWithOtherFilesIsNotReplaced(t *testing.T) {
	d, err := Read(fstest.MapFS{home: {Data: []byte("# Home\n")}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/site"
	for range 2 {
		if err := d.Write(dir, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Write(path.Dir(dir), ""); err == nil || !strings.Contains(err.Error(), "other files") {
		t.Errorf("a directory with other files: %v", err)
	}
}
