// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/tenants/render"
)

// target names an object that others refer to.
type target struct{ group, kind, namespace, name string }

// String returns "Secret shops/acme-outputs".
func (t target) String() string {
	if t.namespace == "" {
		return t.kind + " " + t.name
	}
	return t.kind + " " + t.namespace + "/" + t.name
}

// reference is what one object says of another.
type reference struct {
	target
	// ready tells that it is of no use before the other one is ready.
	ready bool
}

// provider is an object through which a target is there.
type provider struct {
	id string
	// ready tells that the target is not there before the provider is ready.
	ready bool
}

// maxProviders is how many objects one target is there through: it is one, unless stacks write to
// one Secret in turns.
const maxProviders = 4

// inferred are the edges of all references, in the order of the objects and of what is in them: one
// from one object to another, which demands readiness if any of the references does.
func inferred(objects []render.Object) []Edge {
	provided, waits := map[target][]provider{}, make(map[string]bool, len(objects))
	for _, o := range objects {
		waits[o.ID] = o.Resource.WaitsForReady()
		for _, t := range provides(o.Object) {
			if len(provided[t.target]) < maxProviders {
				provided[t.target] = append(provided[t.target], provider{id: o.ID, ready: t.ready})
			}
		}
	}
	var edges []Edge
	for _, o := range objects {
		from := map[string]int{}
		for _, r := range references(o.Object) {
			for _, p := range provided[r.target] {
				if p.id == o.ID {
					continue
				}
				e := Edge{From: o.ID, To: p.id, Ready: (r.ready || p.ready) && waits[p.id], Because: r.String()}
				if i, there := from[p.id]; !there {
					from[p.id] = len(edges)
					edges = append(edges, e)
				} else if e.Ready && !edges[i].Ready {
					edges[i] = e
				}
			}
		}
	}
	return edges
}

// provides are what is there because of an object: the object itself, and the Secret that a stack
// writes.
func provides(u *unstructured.Unstructured) []reference {
	gvk := u.GroupVersionKind()
	self := target{gvk.Group, gvk.Kind, u.GetNamespace(), u.GetName()}
	all := []reference{{target: self}}
	if gvk.Group == stackGroup && gvk.Kind == stackKind {
		if name := text(u.Object, "spec", "writeOutputsToSecret", "name"); name != "" {
			all = append(all, reference{target{"", kindSecret, u.GetNamespace(), name}, true})
		}
	}
	return all
}
