// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reference names an object that another one refers to.
type reference struct {
	Identity
	// ready is true if the object must be ready to be useful.
	ready bool
}

// provider is an object that makes references valid.
type provider struct {
	id string
	// ready is true if the provider must be ready for that.
	ready bool
}

// maxProviders limits the providers of one object: there is one, unless several stacks write to one
// Secret.
const maxProviders = 4

// inferred returns the edges of all references, in the order of the objects and their fields: at
// most one between two objects, which requires readiness if any of the references does.
func inferred(nodes []Node) []Edge {
	provided, waits := map[Identity][]provider{}, make(map[string]bool, len(nodes))
	for _, o := range nodes {
		waits[o.ID] = o.Gated
		for _, t := range provides(o.Object) {
			if len(provided[t.Identity]) < maxProviders {
				provided[t.Identity] = append(provided[t.Identity], provider{id: o.ID, ready: t.ready})
			}
		}
	}
	var edges []Edge
	for _, o := range nodes {
		from := map[string]int{}
		for _, r := range references(o.Object) {
			for _, p := range provided[r.Identity] {
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

// provides returns the objects that exist because of an object: itself, and the Secret that a stack
// writes.
func provides(u *unstructured.Unstructured) []reference {
	all := []reference{{Identity: IdentityOf(u)}}
	if name := OutputsOf(u); name != "" {
		all = append(all, reference{Identity{GroupKind: schema.GroupKind{Kind: kindSecret}, Namespace: u.GetNamespace(), Name: name}, true})
	}
	return all
}

// OutputsOf is the Secret that a stack writes its outputs to; empty for other objects.
func OutputsOf(u *unstructured.Unstructured) string {
	if gvk := u.GroupVersionKind(); gvk.Group != stackGroup || gvk.Kind != stackKind {
		return ""
	}
	return text(u.Object, "spec", "writeOutputsToSecret", "name")
}
