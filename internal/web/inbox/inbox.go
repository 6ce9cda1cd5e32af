// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	_ "embed"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/web/find"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

//go:embed views.html
var views string

// Section is the address of this section.
const Section = "/"

// Add adds the section's pages and actions; the page of a stack approves and rejects one plan. The
// section's entry in the navigation counts what waits.
func Add(s *site.Site, stacks client.Reader, objects *watched.Objects) {
	s.AddViews(views)
	p := &pages{objects: objects, finder: find.New(stacks)}
	s.Page("/{$}", p.show)
	s.Page("/inbox/confirm", p.confirm)
	s.Action("/inbox/do", p.do)
	s.Page("/inbox/result/{id}", p.result)
	s.Action("/inbox/seen", p.seen)
	s.Action("/inbox/prune", p.confirmPrune)
	s.Action("/inbox/tenants", p.confirmTenants)
	s.Action("/inbox/circuit", p.closeCircuit)
	for i := range s.Sections {
		if s.Sections[i].Address == Section {
			s.Sections[i].Count = p.count
		}
	}
}

type pages struct {
	objects *watched.Objects
	finder  *find.Finder
	results results
}

func (p *pages) show(r *site.Request) (*site.Page, error) {
	w, err := p.gather(r)
	if err != nil {
		return nil, err
	}
	v := arrange(w)
	p.allow(r, v)
	return &site.Page{Title: "Inbox", Section: Section, Commands: []string{"yuba pending -A", "yuba list -A"},
		Parts: []site.Part{{ID: "inbox", View: "inbox", Data: v}}, Topics: p.topics(r)}, nil
}

// count is how many things wait for the person.
func (p *pages) count(r *site.Request) int {
	w, err := p.gather(r)
	if err != nil {
		return 0
	}
	return count(w)
}

// allow disables the buttons that the person may not press.
func (p *pages) allow(r *site.Request, v *view) {
	for i := range v.Sections {
		for j := range v.Sections[i].Entries {
			allowEntry(r, &v.Sections[i].Entries[j])
		}
	}
}

func allowEntry(r *site.Request, e *entry) {
	for i := range e.Buttons {
		e.Buttons[i].Button = r.Allow(e.Buttons[i].Button, e.Buttons[i].right)
	}
	for i := range e.Fold {
		allowEntry(r, &e.Fold[i])
	}
}
