// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"embed"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

//go:embed views/*.html
var files embed.FS

// section is the section that the pages belong to.
const section = "/stacks"

// pages serves the pages. watched has the watched objects.
type pages struct{ watched client.Reader }

// Add adds the pages and actions of a stack.
func Add(s *site.Site, watched client.Reader) {
	entries, err := files.ReadDir("views")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, entry := range entries {
		text, err := files.ReadFile("views/" + entry.Name())
		if err != nil {
			panic(err) // it is embedded
		}
		s.AddViews(string(text))
	}
	p := pages{watched}
	const stack = "/stacks/{namespace}/{name}"
	for _, t := range tabs {
		s.Page(stack+t.path, p.page(t))
	}
	s.Page(stack+"/runs/{run}", p.page(tab{path: "/runs", show: pages.run}))
	s.Serve(stack+"/runs/{run}/log.jsonl", p.serve(pages.rawLog))
	s.Serve(stack+"/runs/{run}/log.txt", p.serve(pages.textLog))
	s.Serve(stack+"/runs/{run}/log", p.serve(pages.followLog))
	s.Serve(stack+"/plan.txt", p.serve(pages.planText))
	for verb, do := range actions {
		s.Action(stack+"/"+verb, p.act(do))
	}
}

// tab is one page of a stack.
type tab struct {
	text, path string
	show       func(p pages, r *site.Request, t *infrav1.Terraform, page *site.Page) error
}

var tabs []tab

func init() {
	tabs = []tab{
		{"Overview", "", pages.overview}, {"Plan", "/plan", pages.plan}, {"Runs", "/runs", pages.runs}, {"State", "/states", pages.states},
		{"Inputs", "/inputs", pages.inputs}, {"Outputs", "/outputs", pages.outputs}, {"Connections", "/graph", pages.graph},
		{"Why", "/why", pages.why}, {"Events", "/events", pages.events}, {"YAML", "/yaml", pages.yaml},
	}
}

// head is what all pages of a stack begin with.
type head struct {
	State    standing.State
	Sentence string
	Since    any
	Tabs     []tabLink
}

type tabLink struct {
	Text, Address string
	Here          bool
}

func keyOf(r *site.Request) types.NamespacedName {
	return types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
}

// address is an address below a stack's.
func address(key types.NamespacedName, more ...string) string {
	return site.Path(append([]string{"stacks", key.Namespace, key.Name}, more...)...)
}

// page makes the handler of a tab.
func (p pages) page(of tab) site.Handler {
	return func(r *site.Request) (*site.Page, error) {
		key := keyOf(r)
		var t infrav1.Terraform
		err := r.As.Objects.Get(r.Context(), key, &t)
		if apierrors.IsNotFound(err) {
			return gone(r, key)
		}
		if err != nil {
			return nil, err
		}
		page := &site.Page{Title: key.String(), Section: section, Trail: []site.Link{{Text: "Stacks", Address: section}},
			Topics: []live.Topic{{Kind: &infrav1.Terraform{}, Namespace: key.Namespace, Name: key.Name}}}
		if of.path != "" {
			page.Trail = append(page.Trail, site.Link{Text: key.String(), Address: address(key)})
			page.Title = key.String() + ": " + of.text
		}
		page.Parts = []site.Part{{ID: "stack-head", View: "stack-head", Data: headOf(&t, of.path)}}
		return page, of.show(p, r, &t, page)
	}
}

func headOf(t *infrav1.Terraform, here string) head {
	h := head{State: standing.Of(t), Sentence: standing.Sentence(t), Since: standing.Since(t)}
	for _, other := range tabs {
		h.Tabs = append(h.Tabs, tabLink{other.text, address(client.ObjectKeyFromObject(t)) + other.path, other.path == here})
	}
	return h
}

// add adds a part whose view has its id.
func add(page *site.Page, id string, data any) {
	page.Parts = append(page.Parts, site.Part{ID: id, View: id, Data: data})
}

// note is a sentence in place of a part.
type note struct {
	Says string
	// Commands are what to type.
	Commands []string
}

// instead adds a part that says why another one cannot be shown, if the API explains it. Any other
// error is returned.
func instead(page *site.Page, id string, err error) error {
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) {
		return err
	}
	n := note{Says: status.Status().Message}
	if apierrors.IsForbidden(err) {
		n.Says = "You may not see this: " + n.Says + "."
	}
	page.Parts = append(page.Parts, site.Part{ID: id, View: "stack-note", Data: n})
	return nil
}
