// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package fleet shows all stacks: found by a query, grouped, with what each is doing.
package fleet

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

//go:embed views.html
var views string

// Section is the address of this section.
const Section = "/stacks"

// Add adds the section's pages.
func Add(s *site.Site, watched client.Reader) {
	s.AddViews(views)
	p := pages{watched}
	s.Page("/stacks", p.list)
}

type pages struct{ watched client.Reader }

// row is a stack in the list.
type row struct {
	Namespace, Name string
	State           standing.State
	Sentence        string
	Plan, Revision  string
	Since           any
	Address         string
}

// table is the data of the template "fleet".
type table struct {
	Query string
	Rows  []row
	Total int
}

func (p pages) list(r *site.Request) (*site.Page, error) {
	scope, err := r.Scope(infrav1.GroupVersion.Group, "terraforms")
	if err != nil {
		return nil, err
	}
	var all infrav1.TerraformList
	if err := p.watched.List(r.Context(), &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list stacks: %w", err)
	}
	t := table{Query: r.URL.Query().Get("q")}
	for i := range all.Items {
		stack := &all.Items[i]
		if !scope.Has(stack.Namespace) {
			continue
		}
		t.Total++
		if t.Query != "" && !strings.Contains(stack.Namespace+"/"+stack.Name, t.Query) {
			continue
		}
		t.Rows = append(t.Rows, row{
			Namespace: stack.Namespace, Name: stack.Name, State: standing.Of(stack), Sentence: standing.Sentence(stack),
			Plan: stack.Status.Plan.Pending, Revision: stack.Status.LastAppliedRevision, Since: standing.Since(stack),
			Address: site.Path("stacks", stack.Namespace, stack.Name),
		})
	}
	slices.SortFunc(t.Rows, func(a, b row) int {
		if d := a.State.Rank() - b.State.Rank(); d != 0 {
			return d
		}
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return &site.Page{
		Title: "Stacks", Section: Section, Commands: []string{"yuba list -A"}, Wide: true,
		Parts:  []site.Part{{ID: "fleet", View: "fleet", Data: t}},
		Topics: []live.Topic{{Kind: &infrav1.Terraform{}}},
	}, nil
}
