// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package pieces has small parts that several pages are made of: tabs between the pages of a section,
// the way through a long table, and sentences for what cannot be shown.
package pieces

import (
	_ "embed"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/web/site"
)

//go:embed views.html
var views string

// Add adds the templates "tabs", "pager" and "missing".
func Add(s *site.Site) { s.AddViews(views) }

// Tab is a link to a page of the section.
type Tab struct {
	Text, Address string
	Here          bool
}

// Tabs marks the tab of an address.
func Tabs(here string, tabs ...Tab) []Tab {
	out := make([]Tab, len(tabs))
	for i, t := range tabs {
		t.Here = t.Address == here
		out[i] = t
	}
	return out
}

// Rows is how many rows of a table a page shows.
const Rows = 100

// Pager leads through a table of several pages.
type Pager struct {
	// Page counts from 1 to Pages. Before and After are addresses; empty at the ends.
	Page, Pages, Total int
	Before, After      string
}

// Cut returns the rows of the page that the query asks for by the parameter "page".
func Cut[T any](rows []T, at *url.URL) ([]T, Pager) {
	p := Pager{Total: len(rows), Pages: max(1, (len(rows)+Rows-1)/Rows)}
	p.Page, _ = strconv.Atoi(at.Query().Get("page")) // what is no number is the first page
	p.Page = min(max(p.Page, 1), p.Pages)
	if p.Page > 1 {
		p.Before = With(at, "page", strconv.Itoa(p.Page-1))
	}
	if p.Page < p.Pages {
		p.After = With(at, "page", strconv.Itoa(p.Page+1))
	}
	return rows[(p.Page-1)*Rows : min(p.Page*Rows, len(rows))], p
}

// With returns an address with other parameters: pairs of names and values, of which empty ones are
// left out.
func With(at *url.URL, pairs ...string) string {
	q := at.Query()
	q.Del("marks") // what a browser shows is not part of an address
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Del(pairs[i])
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return at.Path
	}
	return at.Path + "?" + q.Encode()
}

// Why says why something cannot be shown; empty for no error. A part of a page that cannot be read
// must not take the rest of it along.
func Why(err error) string {
	switch {
	case err == nil:
		return ""
	case apierrors.IsForbidden(err):
		return "You may not see this: " + err.Error() + "."
	case apierrors.IsNotFound(err):
		return "This server does not have it: " + err.Error() + "."
	}
	return "It cannot be read now: " + err.Error() + "."
}

// Catalogue are the pages about what stacks are made of.
func Catalogue(here string) site.Part {
	return site.Part{ID: "tabs", View: "tabs", Data: Tabs(here, Tab{Text: "Modules", Address: "/registry"}, Tab{Text: "Providers", Address: "/registry/providers"},
		Tab{Text: "Contracts", Address: "/contracts"}, Tab{Text: "Versions by environment", Address: "/versions"})}
}
