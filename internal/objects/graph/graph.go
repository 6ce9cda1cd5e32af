// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Edge is the dependency of an object on another one.
type Edge struct {
	// From is the id of the object that waits, To of the one that it waits for.
	From, To string
	// Declared is true for edges of dependIds.
	Declared bool
	// Ready is true if To must be ready, not only exist.
	Ready bool
	// Because names the reference, as in "Secret shops/acme-outputs". It is empty for declared
	// edges.
	Because string
}

// String returns "app -> infra (Secret shops/acme-outputs)".
func (e Edge) String() string {
	if e.Because == "" {
		return e.From + " -> " + e.To
	}
	return e.From + " -> " + e.To + " (" + e.Because + ")"
}

// Graph has the edges between the objects of a template.
type Graph struct {
	ids     []string
	place   map[string]int
	needs   map[string][]Edge
	missing map[string][]string
	// joined are the edges by their ends.
	joined  map[[2]string]bool
	order   []string
	leftOut []Edge
}

// Node is an object of a template.
type Node struct {
	ID     string
	Object *unstructured.Unstructured
	// Declared are the ids that it waits for as its template says.
	Declared []string
	// Gated is true if others wait until it is ready, not only until it exists.
	Gated bool
}

// Identity identifies an object of an API, whatever version it is written in.
type Identity struct {
	schema.GroupKind
	Namespace, Name string
}

// IdentityOf returns the identity of an object.
func IdentityOf(u *unstructured.Unstructured) Identity {
	return Identity{u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName()}
}

// String returns "Secret default/acme".
func (i Identity) String() string {
	return i.Kind + " " + strings.TrimPrefix(i.Namespace+"/"+i.Name, "/")
}

// Of returns the graph of objects. Duplicate ids and cycles of declared edges are errors. An unknown
// id in a declaration is not: its object may not render.
func Of(nodes []Node) (*Graph, error) {
	g := &Graph{place: map[string]int{}, needs: map[string][]Edge{}, missing: map[string][]string{}, joined: map[[2]string]bool{}}
	for i, o := range nodes {
		if _, twice := g.place[o.ID]; twice {
			return nil, fmt.Errorf("two objects have the id %s; ids must be unique in a template", o.ID)
		}
		g.place[o.ID] = i
		g.ids = append(g.ids, o.ID)
	}
	g.declare(nodes)
	if cycle := g.sort(); cycle != nil {
		return nil, &CycleError{IDs: cycle}
	}
	g.infer(nodes)
	return g, nil
}

// CycleError is a cycle of dependIds.
type CycleError struct {
	// IDs are the ids of the cycle, each before the one that it waits for; the first is repeated at
	// the end.
	IDs []string
}

// Error returns "dependIds form a cycle: a -> b -> a; …".
func (e *CycleError) Error() string {
	return "dependIds form a cycle: " + strings.Join(e.IDs, " -> ") + "; each would wait for the next one forever: remove one of them"
}

// declare adds the edges of dependIds.
func (g *Graph) declare(nodes []Node) {
	for _, o := range nodes {
		told := map[string]bool{}
		for _, to := range o.Declared {
			if told[to] {
				continue
			}
			told[to] = true
			if i, there := g.place[to]; there {
				g.add(Edge{From: o.ID, To: to, Declared: true, Ready: nodes[i].Gated})
			} else {
				g.missing[o.ID] = append(g.missing[o.ID], to)
			}
		}
	}
}

// infer adds the edges of references. It adds them one by one only if all of them together close a
// cycle.
func (g *Graph) infer(nodes []Node) {
	declared := make(map[string]int, len(g.needs))
	for id, edges := range g.needs {
		declared[id] = len(edges)
	}
	found := inferred(nodes)
	for _, e := range found {
		g.add(e)
	}
	if g.sort() == nil {
		return
	}
	for id, edges := range g.needs {
		for _, e := range edges[declared[id]:] {
			delete(g.joined, [2]string{e.From, e.To})
		}
		g.needs[id] = edges[:declared[id]]
	}
	looks := maxLooks
	for _, e := range found {
		switch {
		case g.joined[[2]string{e.From, e.To}]: // declared
		case looks <= 0 || g.reaches(e.To, e.From, &looks):
			g.leftOut = append(g.leftOut, e)
		default:
			g.add(e)
		}
	}
	g.sort()
}

// add adds an edge, unless one exists.
func (g *Graph) add(e Edge) {
	if ends := [2]string{e.From, e.To}; !g.joined[ends] {
		g.joined[ends] = true
		g.needs[e.From] = append(g.needs[e.From], e)
	}
}

// maxLooks limits the search for references that close cycles to about a second, also for malicious
// templates. The remaining references are left out.
const maxLooks = 5_000_000

// reaches reports whether one object waits for another, directly or not.
func (g *Graph) reaches(from, to string, looks *int) bool {
	seen, open := map[string]bool{from: true}, []string{from}
	for len(open) > 0 {
		id := open[len(open)-1]
		open = open[:len(open)-1]
		if id == to {
			return true
		}
		*looks -= 1 + len(g.needs[id])
		for _, e := range g.needs[id] {
			if !seen[e.To] {
				seen[e.To] = true
				open = append(open, e.To)
			}
		}
	}
	return false
}

// sort puts each object after those that it waits for, and returns a cycle if there is one. It is
// not recursive, because templates may have chains of thousands of objects.
func (g *Graph) sort() (cycle []string) {
	type visit struct {
		id   string
		next int
	}
	const open, done = 1, 2
	state := make(map[string]int, len(g.ids))
	g.order = make([]string, 0, len(g.ids))
	for _, start := range g.ids {
		if state[start] != 0 {
			continue
		}
		state[start] = open
		path := []visit{{id: start}}
		for len(path) > 0 {
			top := &path[len(path)-1]
			needs := g.needs[top.id]
			if top.next == len(needs) {
				state[top.id] = done
				g.order = append(g.order, top.id)
				path = path[:len(path)-1]
				continue
			}
			to := needs[top.next].To
			top.next++
			switch state[to] {
			case open:
				from := slices.IndexFunc(path, func(v visit) bool { return v.id == to })
				for _, v := range path[from:] {
					cycle = append(cycle, v.id)
				}
				return append(cycle, to)
			case 0:
				state[to] = open
				path = append(path, visit{id: to})
			}
		}
	}
	return nil
}

// Order returns all ids, each after those that it waits for.
func (g *Graph) Order() []string { return slices.Clone(g.order) }

// Needs returns the edges from an object, declared ones first.
func (g *Graph) Needs(id string) []Edge { return slices.Clone(g.needs[id]) }

// Missing returns the ids in an object's dependIds that no object has.
func (g *Graph) Missing(id string) []string { return slices.Clone(g.missing[id]) }

// LeftOut returns the references without edges, because each would have closed a cycle.
func (g *Graph) LeftOut() []Edge { return slices.Clone(g.leftOut) }
