// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/graph"
	"github.com/yuba-dev/yuba/internal/tenants/render"
)

// plan is the wanted objects of a tenant.
type plan struct {
	objects []render.Object
	// broken are rendering errors by id.
	broken map[string]string
	// brokenIDs are those ids in the template's order.
	brokenIDs []string
	// invalid is why there is no plan: the tenant's row cannot be read.
	invalid string
	// graph is nil in case of a cycle.
	graph *graph.Graph
	cycle string
}

// makePlan renders a tenant's objects. It is faster than a request, so plans are not kept: those of
// thousands of tenants need much memory.
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
	g, err := graph.Of(render.Nodes(p.objects))
	if err != nil {
		p.cycle = err.Error()
		return p
	}
	p.graph = g
	return p
}

// ordered lists the objects, dependencies first.
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
