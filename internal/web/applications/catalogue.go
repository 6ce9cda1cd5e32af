// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

//go:embed views.html
var views string

// Section is the address of the catalogue.
const Section = "/applications"

// Add adds the pages.
func Add(s *site.Site, objects *watched.Objects) {
	s.AddViews(views)
	p := pages{objects}
	s.Page(Section, p.catalogue)
	s.Page(Section+"/{plural}", p.kind)
	s.Page(Section+"/{plural}/new", p.blank)
	s.Answer(Section+"/{plural}/try", p.try)
	s.Action(Section+"/{plural}/create", p.create)
	s.Page(Section+"/{plural}/{namespace}/{name}", p.one)
	s.Page(Section+"/{plural}/{namespace}/{name}/change", p.change)
	s.Action(Section+"/{plural}/{namespace}/{name}/approve", p.approve)
	s.Action(Section+"/{plural}/{namespace}/{name}/delete", p.delete)
}

type pages struct{ objects *watched.Objects }

// entry is a kind in the catalogue.
type entry struct {
	Kind, Plural, Called, Says, Address, Backend string
	// Definition is the name of the definition.
	Definition string
	State      standing.State
	Trouble    string
	Instances  int
	New        site.Button
}

// shelf are the kinds of a category.
type shelf struct {
	Category string
	Entries  []entry
}

type catalogue struct {
	Shelves []shelf
	Missing string
}

func (p pages) catalogue(r *site.Request) (*site.Page, error) {
	found, err := watched.List(r, p.objects, watched.ApplicationDefinitions)
	if err != nil {
		return nil, err
	}
	return &site.Page{Title: "Applications", Section: Section, Commands: []string{"yuba kubectl get applicationdefinitions", "yuba app list -A"},
		Parts:  []site.Part{{ID: "catalogue", View: "applications", Data: catalogue{shelvesOf(found.Items), found.Missing}}},
		Topics: p.objects.Topics(r.Context(), watched.ApplicationDefinitions)}, nil
}

// shelvesOf sorts kinds by category, weight and name.
func shelvesOf(definitions []*appv1.ApplicationDefinition) []shelf {
	sorted := slices.Clone(definitions)
	slices.SortStableFunc(sorted, func(a, b *appv1.ApplicationDefinition) int {
		x, y := boardOf(a), boardOf(b)
		return cmp.Or(strings.Compare(x.Category, y.Category), cmp.Compare(x.Weight, y.Weight), strings.Compare(a.Spec.Application.Kind, b.Spec.Application.Kind))
	})
	var shelves []shelf
	for _, d := range sorted {
		category := cmp.Or(boardOf(d).Category, "Other")
		if len(shelves) == 0 || shelves[len(shelves)-1].Category != category {
			shelves = append(shelves, shelf{Category: category})
		}
		last := &shelves[len(shelves)-1]
		last.Entries = append(last.Entries, entryOf(d))
	}
	return shelves
}

func boardOf(d *appv1.ApplicationDefinition) appv1.Dashboard {
	if d.Spec.Dashboard == nil {
		return appv1.Dashboard{}
	}
	return *d.Spec.Dashboard
}

func entryOf(d *appv1.ApplicationDefinition) entry {
	board, a := boardOf(d), d.Spec.Application
	e := entry{Kind: a.Kind, Plural: a.Plural, Definition: d.Name, Called: cmp.Or(board.Name, board.Plural, a.Kind), Says: board.Description, Address: site.Path("applications", a.Plural),
		Backend: string(d.Status.Backend), Instances: int(d.Status.Instances)}
	e.State, e.Trouble = standing.OfConditions(d, d.Status.Conditions, false)
	if e.State == standing.Ready {
		e.Trouble = ""
	}
	return e
}

// definition finds the definition of a kind by its plural: the one that is served, if there are several.
func (p pages) definition(r *site.Request) (*appv1.ApplicationDefinition, error) {
	plural := r.PathValue("plural")
	found, err := watched.List(r, p.objects, watched.ApplicationDefinitions)
	if err != nil {
		return nil, err
	}
	if found.Missing != "" {
		return nil, &site.Refusal{Code: 403, Says: found.Missing}
	}
	var other *appv1.ApplicationDefinition
	for _, d := range found.Items {
		if d.Spec.Application.Plural != plural {
			continue
		}
		if apimeta.IsStatusConditionTrue(d.Status.Conditions, appv1.ConditionReady) {
			return d, nil
		}
		other = d
	}
	if other == nil {
		return nil, site.NotFound("There is no kind "+plural+".", "Its definition was deleted, or never was: yuba kubectl get applicationdefinitions")
	}
	return other, nil
}

// row is an instance in a list.
type row struct {
	Namespace, Name, Address, Says, Plan string
	State                                standing.State
	Created                              any
}

type table struct {
	entry
	Rows    []row
	Pager   pieces.Pager
	Missing string
	// More is true if there are more instances than the API was asked for.
	More bool
}

func (p pages) kind(r *site.Request) (*site.Page, error) {
	d, err := p.definition(r)
	if err != nil {
		return nil, err
	}
	t := table{entry: entryOf(d)}
	items, more, err := instances(r, d)
	if t.Missing = pieces.Why(err); err == nil && items == nil {
		t.Missing = "You need the right to list " + d.Spec.Application.Plural + "." + appv1.InstanceVersion.Group + "."
	}
	t.More = more
	var rows []row
	for i := range items {
		rows = append(rows, rowOf(d, &items[i]))
	}
	t.Rows, t.Pager = pieces.Cut(rows, r.URL)
	return &site.Page{Title: t.Called, Section: Section, Trail: trail(), Commands: []string{"yuba kubectl get " + d.Spec.Application.Plural + " -A",
		"yuba definition docs " + d.Name}, Parts: []site.Part{{ID: "kind", View: "applications-kind", Data: t}},
		Topics: p.objects.Topics(r.Context(), watched.ApplicationDefinitions)}, nil
}

func trail(more ...site.Link) []site.Link {
	return append([]site.Link{{Text: "Applications", Address: Section}}, more...)
}

// instances lists the instances of a kind as the person, where they may: at most watched.Most of them. It
// returns nil if they may list it nowhere.
func instances(r *site.Request, d *appv1.ApplicationDefinition) (items []unstructured.Unstructured, more bool, err error) {
	scope, err := r.Scope(appv1.InstanceVersion.Group, d.Spec.Application.Plural)
	if err != nil || scope.Nothing() {
		return nil, false, err
	}
	places := scope.Namespaces()
	if scope.Everywhere() {
		places = []string{""}
	}
	items = []unstructured.Unstructured{}
	for _, namespace := range places {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(appv1.InstanceVersion.WithKind(d.Spec.Application.Kind + "List"))
		if err := r.As.Objects.List(r.Context(), list, client.InNamespace(namespace), client.Limit(int64(watched.Most-len(items)+1))); err != nil {
			return items, false, err
		}
		if items = append(items, list.Items...); len(items) > watched.Most {
			return items[:watched.Most], true, nil
		}
	}
	return items, false, nil
}

// mayCreate is the right to make an instance in a namespace.
func mayCreate(d *appv1.ApplicationDefinition, namespace string) access.Right {
	return access.Right{Verb: "create", Group: appv1.InstanceVersion.Group, Resource: d.Spec.Application.Plural, Namespace: namespace}
}
