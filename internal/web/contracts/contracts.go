// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package contracts shows contracts between stacks: their versions with their types, the revisions that were
// published, and who consumes them. It never shows values.
package contracts

import (
	_ "embed"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

//go:embed views.html
var views string

const (
	// Page is the address of the list. section is the section that it belongs to.
	Page    = "/contracts"
	section = "/registry"
)

// Add adds the pages.
func Add(s *site.Site, objects *watched.Objects) {
	s.AddViews(views)
	p := pages{objects}
	s.Page(Page, p.list)
	s.Page(Page+"/{namespace}/{name}", p.one)
}

type pages struct{ objects *watched.Objects }

// row is a contract in the list.
type row struct {
	Namespace, Name, Version string
	State                    standing.State
	Says, Address            string
	Producers, Consumers     int
	Published                int64
}

type table struct {
	Rows    []row
	Pager   pieces.Pager
	Missing string
}

func (p pages) list(r *site.Request) (*site.Page, error) {
	found, err := watched.List(r, p.objects, watched.Contracts)
	if err != nil {
		return nil, err
	}
	stacks, err := watched.List(r, p.objects, watched.Stacks)
	if err != nil {
		return nil, err
	}
	t := table{Missing: found.Missing}
	consumers := consumersOf(stacks.Items)
	var rows []row
	for _, c := range found.Items {
		rows = append(rows, rowOf(c, len(consumers[c.Namespace+"/"+c.Name])))
	}
	t.Rows, t.Pager = pieces.Cut(rows, r.URL)
	return &site.Page{Title: "Contracts", Section: section, Trail: []site.Link{{Text: "Registry", Address: section}}, Commands: []string{"yuba kubectl get contracts -A", "yuba graph -A"},
		Parts:  []site.Part{pieces.Catalogue(Page), {ID: "contracts", View: "contracts", Data: t}},
		Topics: p.objects.Topics(r.Context(), watched.Contracts, watched.Stacks)}, nil
}

func rowOf(c *yubav1.Contract, consumers int) row {
	v := row{Namespace: c.Namespace, Name: c.Name, Version: c.Spec.Version, Consumers: consumers, Published: c.Status.Published, Address: site.Path("contracts", c.Namespace, c.Name)}
	v.State, v.Says = standing.OfConditions(c, c.Status.Conditions, false)
	producers := map[string]bool{}
	for _, one := range c.Status.Revisions {
		producers[one.Producer] = true
	}
	v.Producers = len(producers)
	return v
}

// consumer is a stack that consumes a contract.
type consumer struct {
	Key, Address, Producer, Version string
	State                           standing.State
}

// consumersOf are the consumers of each contract, which lives in the namespace of its producers.
func consumersOf(stacks []*infrav1.Terraform) map[string][]consumer {
	all := map[string][]consumer{}
	for _, t := range stacks {
		for _, c := range t.Spec.Consumes {
			producer := t.ConsumesFrom(c)
			namespace, _, _ := strings.Cut(producer, "/")
			key := namespace + "/" + c.Contract
			all[key] = append(all[key], consumer{t.Namespace + "/" + t.Name, site.Path("stacks", t.Namespace, t.Name), producer, c.Version, standing.Of(t)})
		}
	}
	return all
}

// detail is the data of the template of one contract.
type detail struct {
	row
	Versions  []yubav1.ContractVersion
	Revisions []revision
	Users     []consumer
	Pager     pieces.Pager
}

type revision struct {
	yubav1.ContractRevision
	Address string
}

func (p pages) one(r *site.Request) (*site.Page, error) {
	key := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	var c yubav1.Contract
	err := r.As.Objects.Get(r.Context(), key, &c)
	if apierrors.IsNotFound(err) {
		return nil, site.NotFound("There is no contract "+key.String()+".", "It was deleted, or stacks publish under this name without one: yuba graph -n "+key.Namespace)
	}
	if err != nil {
		return nil, err
	}
	stacks, err := watched.List(r, p.objects, watched.Stacks)
	if err != nil {
		return nil, err
	}
	users := consumersOf(stacks.Items)[key.String()]
	d := detail{row: rowOf(&c, len(users)), Versions: slices.Clone(c.Status.Versions), Revisions: revisionsOf(&c)}
	slices.Reverse(d.Versions) // newest first
	d.Users, d.Pager = pieces.Cut(users, r.URL)
	topics := append(p.objects.Topics(r.Context(), watched.Stacks), live.Topic{Kind: &yubav1.Contract{}, Namespace: key.Namespace, Name: key.Name})
	return &site.Page{Title: "Contract " + key.String(), Section: section, Trail: []site.Link{{Text: "Registry", Address: section}, {Text: "Contracts", Address: Page}},
		Commands: []string{"yuba kubectl get contract -n " + key.Namespace + " " + key.Name + " -o yaml"}, Parts: []site.Part{{ID: "contract", View: "contracts-one", Data: d}}, Topics: topics}, nil
}

// revisionsOf are the last revisions, newest first.
func revisionsOf(c *yubav1.Contract) []revision {
	list := make([]revision, 0, len(c.Status.Revisions))
	for _, one := range c.Status.Revisions {
		namespace, name, _ := strings.Cut(one.Producer, "/")
		list = append(list, revision{one, site.Path("stacks", namespace, name)})
	}
	slices.SortStableFunc(list, func(a, b revision) int {
		if a.PublishedAt == nil || b.PublishedAt == nil {
			return 0
		}
		return b.PublishedAt.Compare(a.PublishedAt.Time)
	})
	return list
}
