// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/web/acts"
	"github.com/yuba-dev/yuba/internal/web/find"
	"github.com/yuba-dev/yuba/internal/web/query"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// view is the data of the templates "fleet-query" and "fleet".
type view struct {
	Query, Sort, Group, Cols string
	Problem                  *problem
	// Hints are remarks about the query, such as on labels that no stack has.
	Hints []string
	// Total are the stacks that the person may see, Found those that match.
	Total, Found int
	States       []stateCount
	Heads        []head
	Groups       []groupView
	// From and To are the numbers of the shown rows.
	From, To   int
	Prev, Next string
	// Choices of the form.
	Groupings, Columns []choice
	CSV, JSON, Replan  string
	Views              viewsView
}

type choice struct {
	Value, Title string
	Chosen       bool
}

// head is the head of a column. Order is ascending, descending or empty.
type head struct{ Title, Address, Order string }

type groupView struct {
	Title, Address string
	Begun          bool
	Total          int
	States         []stateCount
	Rows           []row
	// Width is the number of columns.
	Width int
}

// row is a stack in the list.
type row struct {
	ID, Key, Address, Select string
	State                    standing.State
	Cells                    []cell
}

// cell is one cell. Kind says how it is drawn: state, stack, runs, time, mono, short or text.
type cell struct {
	Kind, Text string
	At         time.Time
	Spark      *spark
}

// view draws what was found.
func (f *found) view(now time.Time, runs *recent) *view {
	v := &view{Query: f.params.query, Sort: f.sort, Group: f.group, Cols: strings.Join(f.columns, ","), Total: f.result.Total, Found: len(f.result.Stacks)}
	v.Hints = hints(f.query, f.result)
	v.States = countStates(f.result.Stacks)
	for i := range v.States {
		v.States[i].Address = f.withTerm("status", string(v.States[i].State)).address()
	}
	for _, key := range f.columns {
		c, _ := columnOf(key)
		h := head{Title: c.title, Address: f.withSort(key).address()}
		switch f.sort {
		case key:
			h.Order = "ascending"
		case "-" + key:
			h.Order = "descending"
		}
		v.Heads = append(v.Heads, h)
	}
	v.choices(f)
	pages := max(1, (v.Found+pageRows-1)/pageRows)
	at := min(f.page, pages)
	v.From = (at - 1) * pageRows
	v.To = min(v.From+pageRows, v.Found)
	for _, g := range cutPage(f.groups, v.From, pageRows) {
		v.Groups = append(v.Groups, f.groupView(g, runs))
	}
	v.From++
	if at > 1 {
		v.Prev = f.withPage(at - 1).address()
	}
	if at < pages {
		v.Next = f.withPage(at + 1).address()
	}
	all := f.withPage(1)
	v.CSV, v.JSON = addressOf("/stacks/export.csv", all), addressOf("/stacks/export.json", all)
	return v
}

func (v *view) choices(f *found) {
	v.Groupings = []choice{{"", "no groups", f.group == ""}}
	for _, g := range groupings {
		v.Groupings = append(v.Groupings, choice{g.key, "by " + g.title, f.group == g.key})
	}
	names := known(nil).Labels
	for _, t := range f.result.All {
		for key := range t.Labels {
			names[key[strings.LastIndexByte(key, '/')+1:]] = nil
		}
	}
	if name, ok := strings.CutPrefix(f.group, labelColumn); ok {
		names[name] = nil
	}
	var labels []string
	for name := range names {
		labels = append(labels, name)
	}
	slices.Sort(labels)
	const most = 50
	for _, name := range labels[:min(len(labels), most)] {
		v.Groupings = append(v.Groupings, choice{labelColumn + name, "by label " + name, f.group == labelColumn+name})
		v.Columns = append(v.Columns, choice{labelColumn + name, "label " + name, slices.Contains(f.columns, labelColumn+name)})
	}
	var fixed []choice
	for _, c := range columns {
		fixed = append(fixed, choice{c.key, c.title, slices.Contains(f.columns, c.key)})
	}
	v.Columns = append(fixed, v.Columns...)
}

// hints are remarks on a query that found less than the person may have meant.
func hints(q query.Query, result find.Result) []string {
	var all []string
	for _, name := range q.Labels() {
		if !slices.ContainsFunc(result.Stacks, func(s find.Stack) bool { return has(s.Labels, name) }) &&
			!slices.ContainsFunc(result.All, func(t *infrav1.Terraform) bool { return has(t.Labels, name) }) {
			all = append(all, fmt.Sprintf("%s is not a field, and no stack has a label of that name.", name))
		}
	}
	return all
}

func has(labels map[string]string, name string) bool {
	for key := range labels {
		if query.IsLabel(key, name) {
			return true
		}
	}
	return false
}

func (f *found) groupView(g shownGroup, runs *recent) groupView {
	v := groupView{Title: g.title, Begun: g.begun, Total: len(g.stacks), Width: len(f.columns) + 1}
	if g.title != "" {
		v.States = countStates(g.stacks)
	}
	if g.term[0] != "" {
		p := f.withTerm(g.term[0], g.term[1])
		p.group = ""
		v.Address = p.address()
	}
	for i := range g.part {
		v.Rows = append(v.Rows, f.row(&g.part[i], runs))
	}
	return v
}

func (f *found) row(s *find.Stack, runs *recent) row {
	r := row{ID: "stack-" + s.Namespace + "." + s.Name, Key: s.Key(), Address: site.Path("stacks", s.Namespace, s.Name), State: s.State,
		Select: acts.RowOf(s.Terraform).String()}
	for _, key := range f.columns {
		c, _ := columnOf(key)
		var next cell
		switch {
		case c.at != nil:
			next = cell{Kind: "time", At: c.at(s)}
		case c.drawn:
			next = cell{Kind: c.key, Text: c.text(s)}
		case c.short:
			next = cell{Kind: "short", Text: c.text(s)}
		case c.mono:
			next = cell{Kind: "short", Text: shorten.Revision(c.text(s))}
		default:
			next = cell{Kind: "text", Text: c.text(s)}
		}
		if key == "runs" {
			next.Spark = sparkOf(runs.of(r.Key))
		}
		r.Cells = append(r.Cells, next)
	}
	return r
}
