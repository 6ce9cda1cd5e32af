// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/web/cause"
	"github.com/yuba-dev/yuba/internal/web/find"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/query"
	"github.com/yuba-dev/yuba/internal/web/site"
)

//go:embed views.html
var views string

// Section is the address of this section.
const Section = "/stacks"

// pageRows is how many rows a page has.
const pageRows = 100

// Watched are the watched objects.
type Watched interface {
	client.Reader
	cache.Informers
}

// Add adds the section's pages.
func Add(s *site.Site, watched Watched) error {
	s.AddViews(views)
	p := &pages{finder: find.New(watched), recent: newRecent()}
	if err := p.recent.follow(context.Background(), watched); err != nil {
		return err
	}
	s.Page("/stacks", p.list)
	s.Serve("/stacks/complete", p.complete)
	s.Serve("/stacks/export.csv", p.exportCSV)
	s.Serve("/stacks/export.json", p.exportJSON)
	s.Action("/stacks/views/save", p.saveView)
	s.Action("/stacks/views/delete", p.deleteView)
	return nil
}

type pages struct {
	finder *find.Finder
	recent *recent
	shared sharedViews
}

// found is the result of a query, ready to be drawn or exported.
type found struct {
	params
	query  query.Query
	result find.Result
	groups []group
}

// find does what an address asks for.
func (p *pages) find(r *site.Request, asked params) (found, error) {
	f := found{params: asked}
	var err error
	if f.query, err = query.Parse(asked.query); err != nil {
		return f, err
	}
	if f.result, err = p.finder.Stacks(r, f.query, asked.group == groupCause); err != nil {
		return f, err
	}
	sortBy(f.result.Stacks, asked.sort)
	f.groups = groupBy(f.result.Stacks, asked.group)
	return f, nil
}

func (p *pages) list(r *site.Request) (*site.Page, error) {
	asked := paramsOf(r.URL.Query())
	page := &site.Page{
		Title: "Stacks", Section: Section, Commands: commands(asked), Wide: true,
		Topics: []live.Topic{{Kind: &infrav1.Terraform{}}},
	}
	f, err := p.find(r, asked)
	problem, err := problemOf(asked.query, err)
	if err != nil {
		return nil, err
	}
	v := f.view(r.Now, p.recent)
	v.Problem = problem
	if problem != nil {
		visible, err := p.finder.Visible(r)
		if err != nil {
			return nil, err
		}
		v.Total = len(visible)
	}
	v.Views = p.viewsOf(r, asked)
	page.Parts = []site.Part{{ID: "fleet-query", View: "fleet-query", Data: v}, {ID: "fleet", View: "fleet", Data: v}}
	return page, nil
}

// commands are the command lines that show the same, as far as there are some.
func commands(p params) []string {
	all := []string{"yuba list -A"}
	if p.query != "" {
		all = append(all, "# in the browser's query language, as JSON:\nyuba web --print   # then open /stacks/export.json?"+p.encode())
	}
	return all
}

// problem is what is wrong with a query, and where; At is empty if it is the whole query.
type problem struct{ Before, At, After, Says string }

// problemOf is what an error says about a query; nil for no error. Questions that the person may not ask,
// or that the server does not understand, are problems of the query, too: the page stays. Any other error
// is returned.
func problemOf(text string, err error) (*problem, error) {
	var wrong *query.Error
	var refused *site.Refusal
	switch {
	case errors.As(err, &wrong):
		at, end := min(wrong.At, len(text)), min(wrong.End, len(text))
		return &problem{Before: text[:at], At: text[at:end], After: text[end:], Says: wrong.Says}, nil
	case errors.As(err, &refused):
		return &problem{Before: text, Says: strings.TrimSpace(refused.Says + " " + refused.Hint)}, nil
	}
	return nil, err
}

// causesOf are the texts of the causes that stacks have, by key.
func causesOf(stacks []find.Stack) map[string]cause.Cause {
	all := map[string]cause.Cause{}
	for i := range stacks {
		s := &stacks[i]
		if _, known := all[s.Facts.Cause]; known || s.Facts.Cause == "" {
			continue
		}
		if f, ok := find.Problem(s.Terraform, s.State); ok {
			all[s.Facts.Cause] = cause.Of(f)
		}
	}
	return all
}

// refusal turns the error of a query into one for those who get no page.
func refusal(err error) error {
	var problem *query.Error
	if errors.As(err, &problem) {
		return site.BadRequest(fmt.Sprintf("The query cannot be read: %s.", problem), "")
	}
	return err
}
