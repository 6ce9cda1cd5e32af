// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package docsite

import (
	_ "embed"
	"html/template"
)

// Views are the templates "docs-page", whose data is a [View], and "docs-search", whose data is a
// [Results].
//
//go:embed views.html
var Views string

//go:embed frame.html
var frame string

// View is a page among the others.
type View struct {
	*Rendered
	Menu
	Before, After *Link
}

// Menu is what is beside each page.
type Menu struct {
	// Search and Index are the addresses of the page that searches, and of the index.
	Search, Index string
	// Root leads to the site's root; empty if that is here.
	Root     string
	Chapters []Shelf
}

// Shelf is a chapter with its pages.
type Shelf struct {
	Title string
	Open  bool
	Links []Link
}

// Link leads to another page.
type Link struct {
	Text, Address string
	Here          bool
}

// Results are the pages that a query finds.
type Results struct {
	Menu
	Query string
	Found []Found
	// InBrowser is true if there is no server that searches.
	InBrowser bool
}

// View returns a page among the others. search is the path of the page that searches, below the root.
func (d *Docs) View(p *Page, search string) (*View, error) {
	r, err := d.Render(p)
	if err != nil {
		return nil, err
	}
	v := &View{Rendered: r, Menu: d.menu(p.Path, p, search)}
	for neighbour, to := range map[*Page]**Link{d.Before(p): &v.Before, d.After(p): &v.After} {
		if neighbour != nil {
			*to = &Link{Text: neighbour.Title, Address: Relative(p.Path, neighbour.Path)}
		}
	}
	return v, nil
}

// Results searches. search is the path of the page that searches, below the root.
func (d *Docs) Results(query, search string) *Results {
	return &Results{Menu: d.menu(search, nil, search), Query: query, Found: d.Index().Search(query)}
}

func (d *Docs) menu(from string, here *Page, search string) Menu {
	m := Menu{Search: Relative(from, search), Index: Relative(from, IndexPath), Root: Relative(from, "x")}
	m.Root = m.Root[:len(m.Root)-1]
	for _, c := range d.chapters {
		shelf := Shelf{Title: c.Title}
		for _, e := range c.Pages {
			link := Link{Text: e.Name, Address: Relative(from, e.Path), Here: e.Page == here}
			shelf.Open = shelf.Open || link.Here
			shelf.Links = append(shelf.Links, link)
		}
		if len(shelf.Links) > 0 {
			m.Chapters = append(m.Chapters, shelf)
		}
	}
	return m
}

// IndexPath is the path of the index of all words.
const IndexPath = "search-index.js"

// framed is a page of the written site.
type framed struct {
	Title, Version, Root string
	Page                 *View
	Results              *Results
}

var written = template.Must(template.Must(template.New("").Parse(Views)).Parse(frame))
