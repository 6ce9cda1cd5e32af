// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/graph"
	"github.com/yuba-dev/yuba/internal/tenants/render"
)

// plan is what a tenant's objects should be.
type plan struct {
	objects []render.Object
	// broken says, by id, what does not render.
	broken map[string]string
	// brokenIDs are those ids, in the order of the template.
	brokenIDs []string
	// invalid is why there is no plan at all: what the tenant says of its row cannot be read.
	invalid string
	// graph is nil when cycle says why there is none.
	graph *graph.Graph
	cycle string
}

// makePlan renders a tenant's objects. Plans are not kept: those of thousands of tenants would be
// most of what is in memory, and to make one takes less time than a request.
func makePlan(t *tenantv1.Tenant) *plan {
	p := &plan{broken: map[string]string{}}
	var failures []render.Error
	p.objects, failures = render.Objects(t)
	for _, f := range failures {
		if f.ID == "" {
			p.invalid = f.Error()
			return p
		}
		if _, twice := p.broken[f.ID]; !twice {
			p.brokenIDs = append(p.brokenIDs, f.ID)
		}
		p.broken[f.ID] = f.Error()
	}
	g, err := graph.Of(p.objects)
	if err != nil {
		p.cycle = err.Error()
		return p
	}
	p.graph = g
	return p
}

// ordered lists the objects so that each comes after those it needs.
func (p *plan) ordered() []render.Object {
	if p.graph == nil {
		return nil
	}
	at := make(map[string]int, len(p.objects))
	for i, o := range p.objects {
		at[o.ID] = i
	}
	list := make([]render.Object, 0, len(p.objects))
	for _, id := range p.graph.Order() {
		if i, ok := at[id]; ok {
			list = append(list, p.objects[i])
		}
	}
	return list
}
