// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	_ "embed"
	"net/url"
	"slices"
	"strconv"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/kit/shell"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

//go:embed views.html
var views string

// Section is the address of this section.
const Section = "/graph"

// Add adds the section's page.
func Add(s *site.Site, objects *watched.Objects) {
	s.AddViews(views)
	s.Page(Section, pages{objects, newModels()}.show)
}

type pages struct {
	objects *watched.Objects
	models  *models
}

// choice is a link that changes the view.
type choice struct {
	Text, Address string
	Here          bool
}

// data is the data of the templates.
type data struct {
	Ask
	View
	Picture       picture
	Rows          []row
	Pager         pieces.Pager
	Missing       []string
	Levels, Zooms []choice
	All, Unopen   string
	// More shows as many nodes as there can be; empty if it would not show more.
	More    string
	Reached string
}

// row is a node in the table.
type row struct {
	*Node
	Label, Focus  string
	Needs, Serves []choice
	More          int
}

func (p pages) show(r *site.Request) (*site.Page, error) {
	objects, missing, err := p.read(r)
	if err != nil {
		return nil, err
	}
	ask := AskOf(r.URL.Query())
	d := data{Ask: ask, View: p.models.of(objects).Show(ask), Missing: missing}
	zoom := zoomOf(r.URL.Query())
	d.Picture = draw(d.View, r.URL, zoom)
	d.Rows, d.Pager = pieces.Cut(rowsOf(d.View, r.URL), r.URL)
	d.choices(r.URL, zoom)
	page := &site.Page{Title: "Graph", Section: Section, Wide: true, Commands: []string{"yuba graph -A", "yuba graph -A -o mermaid"},
		Parts: []site.Part{{ID: "graph-bar", View: "graph-bar", Data: d}, {ID: "graph-picture", View: "graph-picture", Data: d},
			{ID: "graph-table", View: "graph-table", Data: d}},
		Topics: p.objects.Topics(r.Context(), watched.Stacks, watched.Kustomizations, watched.GitRepositories, watched.OCIRepositories, watched.Buckets,
			watched.ExternalArtifacts, watched.Tenants, watched.ApplicationDefinitions)}
	if f := d.Focus(); f != nil {
		page.Title, page.Trail = "Graph of "+f.Key(), []site.Link{{Text: "Graph", Address: Section}}
		if f.Kind == Stack {
			page.Commands = commandsOf(f.Key())
		}
	}
	return page, nil
}

// commandsOf are the commands about one stack. It may not exist: others name it as they like.
func commandsOf(stack string) []string {
	return []string{shell.Line("yuba", "graph", stack), shell.Line("yuba", "graph", stack, "-o", "mermaid"), shell.Line("yuba", "impact", stack)}
}

// Focus is the node in the focus: Ask has its name, View the node.
func (d data) Focus() *Node { return d.View.Focus }

func zoomOf(q url.Values) int {
	zoom, err := strconv.Atoi(q.Get("zoom"))
	if err != nil || !slices.Contains(zooms, zoom) {
		return 100
	}
	return zoom
}

var zooms = []int{25, 50, 75, 100, 150, 200}

func (d *data) choices(at *url.URL, zoom int) {
	for _, n := range zooms {
		d.Zooms = append(d.Zooms, choice{strconv.Itoa(n) + " %", pieces.With(at, "zoom", strconv.Itoa(n)), n == zoom})
	}
	for _, level := range []string{"1", "2", "3", "all"} {
		here := level == strconv.Itoa(d.Ask.Levels) || level == "all" && d.Ask.Levels == allLevels
		d.Levels = append(d.Levels, choice{level, pieces.With(at, "levels", level, "page", ""), here})
	}
	d.All = pieces.With(at, "focus", "", "levels", "", "page", "")
	if d.Cut > 0 && d.Ask.Limit < most {
		d.More = pieces.With(at, "limit", strconv.Itoa(most))
	}
	if len(d.Open) > 0 {
		d.Unopen = pieces.With(at, "open", "", "page", "")
	}
	var stacks, tenants int
	for _, wave := range d.Reaches {
		for _, n := range wave {
			switch n.Kind {
			case Stack:
				stacks++
			case Tenant:
				tenants++
			}
		}
	}
	d.Reached = reached(stacks, tenants)
}

// reached says what a change reaches.
func reached(stacks, tenants int) string {
	switch {
	case stacks == 0 && tenants == 0:
		return "A change reaches no other stack and no tenant."
	case tenants == 0:
		return "A change can reach " + site.Grouped(stacks) + " other " + plural("stack", stacks) + "."
	}
	return "A change can reach " + site.Grouped(stacks) + " other " + plural("stack", stacks) + " and " + site.Grouped(tenants) + " " + plural("tenant", tenants) + "."
}

func plural(noun string, n int) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// read reads the objects that the person may list.
func (p pages) read(r *site.Request) (o Objects, missing []string, err error) {
	stacks, err := watched.List(r, p.objects, watched.Stacks)
	if err != nil {
		return o, nil, err
	}
	kustomizations, err := watched.List(r, p.objects, watched.Kustomizations)
	if err != nil {
		return o, nil, err
	}
	tenants, err := watched.List(r, p.objects, watched.Tenants)
	if err != nil {
		return o, nil, err
	}
	// Without the right to definitions, applications have no links.
	definitions, err := watched.List(r, p.objects, watched.ApplicationDefinitions)
	if err != nil {
		return o, nil, err
	}
	o.Stacks, o.Kustomizations, o.Tenants, o.Definitions = stacks.Items, kustomizations.Items, tenants.Items, definitions.Items
	if stacks.Missing != "" {
		missing = append(missing, stacks.Missing)
	}
	if kustomizations.Served && kustomizations.Missing != "" {
		missing = append(missing, kustomizations.Missing)
	}
	if tenants.Served && tenants.Missing != "" {
		missing = append(missing, tenants.Missing)
	}
	var more []string
	o.Sources, more, err = p.sources(r)
	return o, append(missing, more...), err
}

func (p pages) sources(r *site.Request) (all []SourceObject, missing []string, err error) {
	for _, list := range []func() ([]SourceObject, string, error){
		sourcesOf(r, p.objects, watched.GitRepositories, func(s *sourcev1.GitRepository) ([]metav1.Condition, bool) { return s.Status.Conditions, s.Spec.Suspend }),
		sourcesOf(r, p.objects, watched.OCIRepositories, func(s *sourcev1.OCIRepository) ([]metav1.Condition, bool) { return s.Status.Conditions, s.Spec.Suspend }),
		sourcesOf(r, p.objects, watched.Buckets, func(s *sourcev1.Bucket) ([]metav1.Condition, bool) { return s.Status.Conditions, s.Spec.Suspend }),
		sourcesOf(r, p.objects, watched.ExternalArtifacts, func(s *sourcev1.ExternalArtifact) ([]metav1.Condition, bool) { return s.Status.Conditions, false }),
	} {
		some, why, err := list()
		if err != nil {
			return nil, nil, err
		}
		if all = append(all, some...); why != "" {
			missing = append(missing, why)
		}
	}
	return all, missing, nil
}

// sourcesOf lists the sources of a kind.
func sourcesOf[T any](r *site.Request, o *watched.Objects, k watched.Kind[T], of func(*T) ([]metav1.Condition, bool)) func() ([]SourceObject, string, error) {
	return func() (all []SourceObject, missing string, err error) {
		found, err := watched.List(r, o, k)
		for _, item := range found.Items {
			object := any(item).(metav1.Object)
			conditions, suspended := of(item)
			state, says := standing.OfConditions(object, conditions, suspended)
			all = append(all, SourceObject{Object: object, Type: k.Name, State: state, Says: says})
		}
		if found.Served {
			missing = found.Missing
		}
		return all, missing, err
	}
}

// maxNames limits the neighbours that a row names.
const maxNames = 8

// rowsOf are the rows of the table: the same as the picture.
func rowsOf(v View, at *url.URL) []row {
	byID := map[string]*row{}
	rows := make([]row, len(v.Nodes))
	for i, n := range v.Nodes {
		rows[i] = row{Node: n, Label: n.label(), Focus: focused(at, n.ID)}
		if n.Kind == Group {
			rows[i].Focus = opened(at, n.Name)
		}
		byID[n.ID] = &rows[i]
	}
	link := func(n *row, how string) choice {
		return choice{Text: strings.TrimSpace(n.Label + " " + how), Address: n.Focus}
	}
	for _, e := range v.Edges {
		from, to := byID[e.From], byID[e.To]
		how := ""
		if e.How != "" {
			how = "(" + e.How + ")"
		}
		if len(to.Needs) < maxNames {
			to.Needs = append(to.Needs, link(from, how))
		} else {
			to.More++
		}
		if len(from.Serves) < maxNames {
			from.Serves = append(from.Serves, link(to, how))
		} else {
			from.More++
		}
	}
	return rows
}
