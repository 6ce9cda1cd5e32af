// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/yuba-dev/yuba/internal/web/find"
	"github.com/yuba-dev/yuba/internal/web/query"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// exportCSV writes all found stacks with the columns of the list.
func (p *pages) exportCSV(w http.ResponseWriter, r *site.Request) error {
	f, err := p.find(r, paramsOf(r.URL.Query()))
	if err != nil {
		return refusal(err)
	}
	attach(w, "text/csv; charset=utf-8", "stacks.csv")
	out := csv.NewWriter(w)
	for _, line := range f.table() {
		for i := range line {
			line[i] = harmless(line[i])
		}
		if err := out.Write(line); err != nil {
			return nil //nolint:nilerr // the browser is gone
		}
	}
	out.Flush()
	return nil
}

// table is the list as texts, with a line of titles.
func (f *found) table() [][]string {
	var head []string
	var shown []column
	for _, key := range f.columns {
		c, _ := columnOf(key)
		shown = append(shown, c)
		head = append(head, c.title)
	}
	lines := [][]string{head}
	for _, g := range f.groups {
		for i := range g.stacks {
			line := make([]string, len(shown))
			for j, c := range shown {
				line[j] = c.value(&g.stacks[i])
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// harmless keeps spreadsheets from taking a text for a formula: names and messages are foreign.
func harmless(text string) string {
	text = strings.ReplaceAll(text, "\x00", "")
	if trimmed := strings.TrimLeft(text, " \t\r\n\u00a0\ufeff"); trimmed != "" && strings.ContainsAny(trimmed[:1], "=+-@|%") ||
		text != "" && strings.ContainsAny(text[:1], "\t\r\n") || strings.HasPrefix(trimmedWide(text), "＝") {
		return "'" + text
	}
	return text
}

// trimmedWide shows the full-width signs that some spreadsheets take for the narrow ones.
func trimmedWide(text string) string {
	return strings.NewReplacer("＋", "＝", "－", "＝", "＠", "＝").Replace(strings.TrimSpace(text))
}

// exported is a stack in JSON.
type exported struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	State     string            `json:"state"`
	Drift     bool              `json:"drift"`
	Message   string            `json:"message,omitempty"`
	Changed   string            `json:"changed,omitempty"`
	Source    string            `json:"source,omitempty"`
	Tenant    string            `json:"tenant,omitempty"`
	Cause     string            `json:"cause,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Plan      string            `json:"pendingPlan,omitempty"`
	Summary   string            `json:"changes,omitempty"`
	Revision  string            `json:"revision,omitempty"`
}

// exportJSON writes all found stacks, whichever columns are shown.
func (p *pages) exportJSON(w http.ResponseWriter, r *site.Request) error {
	f, err := p.find(r, paramsOf(r.URL.Query()))
	if err != nil {
		return refusal(err)
	}
	all := []exported{}
	for _, g := range f.groups {
		for i := range g.stacks {
			all = append(all, exportOf(&g.stacks[i]))
		}
	}
	attach(w, "application/json", "stacks.json")
	return encode(w, all)
}

func exportOf(s *find.Stack) exported {
	changed, _ := columnOf("changed")
	return exported{Namespace: s.Namespace, Name: s.Name, State: string(s.State), Drift: s.Facts.Drift, Message: firstLine(s.Facts.Text), Changed: changed.value(s),
		Source: s.Facts.Source, Tenant: s.Facts.Tenant, Cause: s.Facts.Cause, Labels: s.Labels, Plan: s.Status.Plan.Pending, Summary: s.Status.Plan.Summary,
		Revision: s.Status.LastAppliedRevision}
}

// complete answers what the last word of a query may become.
func (p *pages) complete(w http.ResponseWriter, r *site.Request) error {
	visible, err := p.finder.Visible(r)
	if err != nil {
		return err
	}
	all := find.Match(visible, query.Query{}, query.Facts{Now: r.Now}, false)
	suggestions := query.Complete(r.URL.Query().Get("q"), known(all))
	if suggestions == nil {
		suggestions = []query.Suggestion{}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	return encode(w, suggestions)
}

func attach(w http.ResponseWriter, kind, name string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	w.Header().Set("Cache-Control", "no-store")
}

func encode(w http.ResponseWriter, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(v)
}
