// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package docsite

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// Index finds pages by words. All words of a query must be on a page; each matches the words that begin with
// it. A page with a word in its title comes before one with the word in a heading, and that one before
// those that only mention it.
type Index struct {
	pages []entry
	// terms are the pages of each word, as code writes them.
	terms map[string]string
	// common are words that are on so many pages that they find nothing.
	common []string
	sorted []string
}

// entry is a page in the index.
type entry struct {
	path, title, brief string
	headings           []Heading
}

// MarshalJSON implements json.Marshaler. A page is an array, as there are many.
func (e entry) MarshalJSON() ([]byte, error) {
	headings := make([][2]string, 0, len(e.headings))
	for _, h := range e.headings {
		headings = append(headings, [2]string{h.ID, h.Text})
	}
	return json.Marshal([]any{e.path, e.title, e.brief, headings})
}

// Found is a page that a query finds, with the headings that match it.
type Found struct {
	Path, Title, Brief string
	Headings           []Heading
}

const (
	// brief is the length of what is said about a page; longest is the longest word of the index.
	brief, longest = 150, 24
	// most is the number of headings that are shown of a page.
	most = 3
	// shelves is the number of classes of how often a page has a word.
	shelves = 4
)

// Index returns the index of all pages.
func (d *Docs) Index() *Index { return d.index() }

func (d *Docs) makeIndex() *Index {
	x := &Index{terms: map[string]string{}}
	counts := map[string]map[int]int{}
	for i, p := range d.pages {
		root := parse(p.text)
		e := entry{path: p.Path, title: p.Title, brief: briefOf(root, p.text)}
		for _, level := range []int{2, 3} {
			e.headings = append(e.headings, headingsOf(root, p.text, level)...)
		}
		x.pages = append(x.pages, e)
		for _, word := range wordsIn(allText(root, p.text)) {
			if counts[word] == nil {
				counts[word] = map[int]int{}
			}
			counts[word][i]++
		}
	}
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		if len(counts[word]) > len(d.pages)/2 {
			x.common = append(x.common, word)
			continue
		}
		x.terms[word] = code(counts[word])
	}
	x.sorted = slices.Sorted(maps.Keys(x.terms))
	return x
}

// Script is the index as a script for browsers, which may not read other files of a file system.
func (x *Index) Script() ([]byte, error) {
	data, err := json.Marshal(map[string]any{"pages": x.pages, "terms": x.terms, "common": x.common})
	if err != nil {
		return nil, fmt.Errorf("write the index: %w", err)
	}
	return fmt.Appendf(nil, "window.yubaIndex=%s;\n", data), nil
}

// code writes the pages of a word: distances, each with how often the page has the word, in base 36.
func code(counts map[int]int) string {
	var parts []string
	last := 0
	for _, page := range slices.Sorted(maps.Keys(counts)) {
		shelf := 0
		for n := counts[page]; n > 1 && shelf < shelves-1; n /= 3 {
			shelf++
		}
		parts = append(parts, strconv.FormatInt(int64((page-last)*shelves+shelf), 36))
		last = page
	}
	return strings.Join(parts, " ")
}

// each calls do for the pages of a word.
func each(coded string, do func(page, shelf int)) {
	page := 0
	for _, part := range strings.Fields(coded) {
		n, err := strconv.ParseInt(part, 36, 32)
		if err != nil {
			return
		}
		page += int(n) / shelves
		do(page, int(n)%shelves)
	}
}

// wordsIn are the words of a text that an index has. The script has the same rules.
func wordsIn(text string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), func(word string) bool { return len(word) < 2 || len(word) > longest || isNumber(word) })
}

// isNumber reports whether a word is a number, an id or a digest, which nobody looks for.
func isNumber(word string) bool {
	digits := 0
	for _, c := range word {
		if c <= '9' {
			digits++
		}
	}
	return digits == len(word) && digits > 3 || digits > 0 && len(word) > 12
}

// allText is the text of a page with its code.
func allText(root ast.Node, source []byte) string {
	var b strings.Builder
	walk(root, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.FencedCodeBlock:
			b.Write(n.Lines().Value(source))
		}
		if n.Type() == ast.TypeBlock {
			b.WriteByte('\n')
		}
	})
	return b.String()
}

// briefOf is the begin of the first paragraph.
func briefOf(root ast.Node, source []byte) string {
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() != ast.KindParagraph {
			continue
		}
		text := strings.Join(strings.Fields(wordsOf(n, source)), " ")
		if len(text) <= brief {
			return text
		}
		if at := strings.LastIndexByte(text[:brief], ' '); at > 0 {
			return text[:at] + "…"
		}
	}
	return ""
}

// Search returns the pages that a query finds, the best first.
func (x *Index) Search(query string) []Found {
	if len(query) > 200 {
		query = query[:200]
	}
	words := slices.DeleteFunc(wordsIn(query), func(word string) bool { return slices.Contains(x.common, word) })
	if len(words) == 0 {
		return nil
	}
	total, matched := make([]int, len(x.pages)), make([]int, len(x.pages))
	for _, word := range words {
		for page, points := range x.points(word) {
			total[page] += points
			matched[page]++
		}
	}
	var order []int
	for page, n := range matched {
		if n == len(words) {
			order = append(order, page)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(total[b], total[a]) })
	found := make([]Found, 0, len(order))
	for _, page := range order {
		e := x.pages[page]
		f := Found{Path: e.path, Title: e.title, Brief: e.brief}
		for _, h := range e.headings {
			if len(f.Headings) < most && slices.ContainsFunc(words, func(word string) bool { return pointsOf(word, h.Text, 1, 1) > 0 }) {
				f.Headings = append(f.Headings, h)
			}
		}
		found = append(found, f)
	}
	return found
}

// points is how well pages match a word.
func (x *Index) points(word string) map[int]int {
	best := map[int]int{}
	at, _ := slices.BinarySearch(x.sorted, word)
	for ; at < len(x.sorted) && strings.HasPrefix(x.sorted[at], word); at++ {
		term := x.sorted[at]
		each(x.terms[term], func(page, shelf int) {
			points := 1
			if term == word {
				points = 2 + shelf
			}
			best[page] = max(best[page], points)
		})
	}
	for page := range best {
		e, points := x.pages[page], pointsOf(word, x.pages[page].title, 24, 12)
		if points == 0 {
			for _, h := range e.headings {
				points = max(points, pointsOf(word, h.Text, 8, 5))
			}
		}
		best[page] += points
	}
	return best
}

// pointsOf are the points for a word in a text, or for one that begins with it.
func pointsOf(word, text string, exact, begins int) int {
	points := 0
	for _, other := range wordsIn(text) {
		switch {
		case other == word:
			return exact
		case strings.HasPrefix(other, word):
			points = begins
		}
	}
	return points
}
