// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	_ "embed"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/web/history"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

//go:embed views.html
var views string

// Section is the address of this section.
const Section = "/operations"

// The other pages of the section.
const (
	outagesPage = "/operations/outages"
	toolsPage   = "/operations/tools"
)

// Add adds the section's pages and actions.
func Add(s *site.Site, objects *watched.Objects, load *history.History) {
	s.AddViews(views)
	p := pages{objects, load}
	s.Page(Section, p.now)
	s.Page(outagesPage, p.outages)
	s.Page(toolsPage, p.tools)
	s.Action("/operations/circuits/{name}/{verb}", turn)
}

type pages struct {
	objects *watched.Objects
	load    *history.History
}

func tabs(here string) site.Part {
	return site.Part{ID: "tabs", View: "tabs", Data: pieces.Tabs(here, pieces.Tab{Text: "Runs and load", Address: Section},
		pieces.Tab{Text: "Outages", Address: outagesPage}, pieces.Tab{Text: "Tools and providers", Address: toolsPage})}
}

// load is the data of the templates about now.
type load struct {
	Server    content.ServerInfo
	ServerWhy string
	Figures   content.Figures
	Slowest   []ended
	WhyNot    string
	Plots     []plot
	Since     time.Time
}

type ended struct {
	content.EndedRun
	Took, Address string
}

// queue is the data of the template of the queue.
type queue struct {
	Rows  []queued
	Pager pieces.Pager
	Why   string
}

type queued struct {
	content.QueueEntry
	Address string
	// State is running or waiting; Doing says what it does or waits for.
	State, Doing string
}

func (p pages) now(r *site.Request) (*site.Page, error) {
	ctx := r.Context()
	var d load
	var err error
	d.Server, err = r.As.Content.Server(ctx)
	d.ServerWhy = pieces.Why(err)
	if d.Figures, err = r.As.Content.Figures(ctx); err == nil {
		// Only those who may see the figures see what they were.
		if samples := p.load.Samples(); len(samples) > 0 {
			d.Plots, d.Since = plotsOf(samples), samples[0].At
		}
		for _, e := range d.Figures.Slowest {
			d.Slowest = append(d.Slowest, ended{e, time.Duration(e.Took).Round(time.Millisecond).String(), site.Path("stacks", e.Namespace, e.Name)})
		}
	}
	d.WhyNot = pieces.Why(err)
	q, err := r.As.Content.Queue(ctx)
	rows, pager := pieces.Cut(queuedOf(q.Items), r.URL)
	if _, err := watched.List(r, p.objects, watched.Stacks); err != nil { // so that the page follows them
		return nil, err
	}
	return &site.Page{Title: "Operations", Section: Section, Wide: true, Commands: []string{"yuba top", "yuba queue", "yuba version", "yuba backup FILE"},
		Parts: []site.Part{tabs(Section), {ID: "ops-server", View: "ops-server", Data: d}, {ID: "ops-queue", View: "ops-queue", Data: queue{rows, pager, pieces.Why(err)}},
			{ID: "ops-plots", View: "ops-plots", Data: d}},
		Topics: p.objects.Topics(ctx, watched.Stacks)}, nil
}

// queuedOf says what each run in the queue does.
func queuedOf(items []content.QueueEntry) []queued {
	rows := make([]queued, 0, len(items))
	for _, e := range items {
		row := queued{QueueEntry: e, Address: site.Path("stacks", e.Namespace, e.Name), State: "waiting", Doing: e.Waits}
		if e.Place == 0 {
			row.State, row.Doing = "running", e.Phase
		} else if row.Doing == "" {
			row.Doing = "its turn"
		}
		rows = append(rows, row)
	}
	return rows
}

// tools is the data of the template of tools and providers.
type tools struct {
	Tools     []run.InstalledTool
	ToolsWhy  string
	Kept      []string
	Providers []provider
	Pager     pieces.Pager
	Total     string
	Why       string
}

type provider struct {
	run.StoredProvider
	Size string
}

func (p pages) tools(r *site.Request) (*site.Page, error) {
	var d tools
	server, err := r.As.Content.Server(r.Context())
	d.Tools, d.ToolsWhy = server.Tools, pieces.Why(err)
	if kept, err := r.As.Content.KeptTools(r.Context()); err == nil {
		for _, v := range kept.Items {
			d.Kept = append(d.Kept, v.Tool+" "+v.Version)
		}
	}
	list, err := r.As.Content.Providers(r.Context())
	d.Why = pieces.Why(err)
	var rows []provider
	var total int64
	for _, one := range list.Items {
		rows, total = append(rows, provider{one, size(float64(one.Size))}), total+one.Size
	}
	d.Total = size(float64(total))
	d.Providers, d.Pager = pieces.Cut(rows, r.URL)
	return &site.Page{Title: "Tools and providers", Section: Section, Trail: []site.Link{{Text: "Operations", Address: Section}}, Wide: true,
		Commands: []string{"yuba version", "yuba providers", "yuba backup FILE"},
		Parts:    []site.Part{tabs(toolsPage), {ID: "ops-tools", View: "ops-tools", Data: d}}}, nil
}
