// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package manual shows the documentation of the version that runs. Nothing is loaded from elsewhere.
// internal/web/docsite makes the pages; this package puts them into the site's frame and searches them
// for browsers without JavaScript.
package manual

import (
	_ "embed"
	"io/fs"
	"net/http"
	"sync"

	"github.com/yuba-dev/yuba/docs"
	"github.com/yuba-dev/yuba/internal/web/docsite"
	"github.com/yuba-dev/yuba/internal/web/site"
)

//go:embed views.html
var views string

// Section is the address of this section.
const Section = "/docs/"

// search is the path of the page that searches.
const search = "search"

// Add adds the section's pages. They are read when somebody opens one.
func Add(s *site.Site) {
	s.AddViews(docsite.Views)
	s.AddViews(views)
	m := manual{sync.OnceValues(func() (*docsite.Docs, error) {
		d, err := docsite.Read(docs.Files)
		if err == nil {
			go d.Index() // readers may search next
		}
		return d, err
	}), "/assets/docs.js?" + s.Edition}
	s.Page(Section+"{path...}", m.page)
	s.Page(Section+search, m.search)
	s.Serve(Section+docsite.IndexPath, m.index)
	extras, err := fs.Glob(docs.Files, "reference/*.json")
	if err != nil {
		panic(err) // the pattern is fixed
	}
	for _, name := range extras {
		s.Serve(Section+name, func(w http.ResponseWriter, _ *site.Request) error {
			data, err := docs.Files.ReadFile(name)
			if err == nil {
				send(w, "application/json", data)
			}
			return err
		})
	}
}

type manual struct {
	read func() (*docsite.Docs, error)
	// script is the address of the script that searches.
	script string
}

// shown is a part of the documentation, with the script that searches.
type shown struct {
	Page    *docsite.View
	Results *docsite.Results
	Script  string
}

func (m manual) draw(title string, what shown) *site.Page {
	what.Script = m.script
	return &site.Page{Title: title, Section: Section, Parts: []site.Part{{ID: "docs", View: "manual", Data: what}}}
}

func (m manual) page(r *site.Request) (*site.Page, error) {
	d, err := m.read()
	if err != nil {
		return nil, err
	}
	at := r.PathValue("path")
	p, ok := d.Find(at)
	if !ok {
		return nil, site.NotFound("The documentation of this version has no page "+at+".", "Search for it under /docs/search.")
	}
	v, err := d.View(p, search)
	if err != nil {
		return nil, err
	}
	page := m.draw(p.Title, shown{Page: v})
	if v.Path != "index.html" {
		page.Trail = []site.Link{{Text: "Documentation", Address: Section}}
	}
	return page, nil
}

func (m manual) search(r *site.Request) (*site.Page, error) {
	d, err := m.read()
	if err != nil {
		return nil, err
	}
	return m.draw("Search the documentation", shown{Results: d.Results(r.URL.Query().Get("q"), search)}), nil
}

// index serves the index of all words to the script.
func (m manual) index(w http.ResponseWriter, _ *site.Request) error {
	d, err := m.read()
	if err != nil {
		return err
	}
	data, err := d.Index().Script()
	if err != nil {
		return err
	}
	send(w, "text/javascript; charset=utf-8", data)
	return nil
}

// send sends a file, which browsers keep for a while: it changes with the server only.
func send(w http.ResponseWriter, kind string, data []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "private, max-age=300")
	w.Write(data) //nolint:errcheck // the browser is gone
}
