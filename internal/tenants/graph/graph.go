// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/tenants/render"
)

// Edge says that an object waits for another one.
type Edge struct {
	// From is the id of the object that waits, To of the one that it waits for.
	From, To string
	// Declared tells that the template says so, in dependIds.
	Declared bool
	// Ready tells that To must be ready; otherwise it has to be there.
	Ready bool
	// Because names what From refers to, as in "Secret shops/acme-outputs". It is empty when the
	// edge is declared.
	Because string
}

// String returns "app -> infra (Secret shops/acme-outputs)".
func (e Edge) String() string {
	if e.Because == "" {
		return e.From + " -> " + e.To
	}
	return e.From + " -> " + e.To + " (" + e.Because + ")"
}

// Graph is what the objects of a tenant wait for.
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

// Of makes the graph of objects. It fails when two have one id, and when dependIds form a cycle. An
// id in dependIds that no object has is no failure: its object may be one that cannot be made.
func Of(objects []render.Object) (*Graph, error) {
	g := &Graph{place: map[string]int{}, needs: map[string][]Edge{}, missing: map[string][]string{}, joined: map[[2]string]bool{}}
	for i, o := range objects {
		if _, twice := g.place[o.ID]; twice {
			return nil, fmt.Errorf("two objects have the id %s; in a template each has its own", o.ID)
		}
		g.place[o.ID] = i
		g.ids = append(g.ids, o.ID)
	}
	g.declare(objects)
	if cycle := g.sort(); cycle != nil {
		return nil, &CycleError{IDs: cycle}
	}
	g.infer(objects)
	return g, nil
}

// CycleError says that objects wait for each other because their template says so.
type CycleError struct {
	// IDs are those of the cycle, each before the one that it waits for; the first is the last
	// again.
	IDs []string
}

// Error returns "dependIds form a cycle: a -> b -> a; …".
func (e *CycleError) Error() string {
	return "dependIds form a cycle: " + strings.Join(e.IDs, " -> ") + "; each would wait for the next one forever: take one of them out"
}

// declare adds the edges that templates name.
func (g *Graph) declare(objects []render.Object) {
	for _, o := range objects {
		told := map[string]bool{}
		for _, to := range o.Resource.DependIds {
			if told[to] {
				continue
			}
			told[to] = true
			if i, there := g.place[to]; there {
				g.add(Edge{From: o.ID, To: to, Declared: true, Ready: objects[i].Resource.WaitsForReady()})
			} else {
				g.missing[o.ID] = append(g.missing[o.ID], to)
			}
		}
	}
}

// infer adds the edges of references. Only when all of them together close a cycle, they are looked
// at one by one.
func (g *Graph) infer(objects []render.Object) {
	declared := make(map[string]int, len(g.needs))
	for id, edges := range g.needs {
		declared[id] = len(edges)
	}
	found := inferred(objects)
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

// add adds an edge, unless there is one already.
func (g *Graph) add(e Edge) {
	if ends := [2]string{e.From, e.To}; !g.joined[ends] {
		g.joined[ends] = true
		g.needs[e.From] = append(g.needs[e.From], e)
	}
}

// maxLooks bounds the search for references that close cycles, to about a second: templates are not
// always kind. What is not looked at is left out.
const maxLooks = 5_000_000

// reaches tells whether one object waits for another, by way of others perhaps.
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

// sort puts each object behind those that it waits for, and returns a cycle when there is one. It
// does without recursion: templates may have thousands of objects in a row.
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

// Order is all ids, each behind those that it waits for.
func (g *Graph) Order() []string { return slices.Clone(g.order) }

// Needs are the edges to what an object waits for itself: declared ones first.
func (g *Graph) Needs(id string) []Edge { return slices.Clone(g.needs[id]) }

// Missing are the ids in an object's dependIds that no object has.
func (g *Graph) Missing(id string) []string { return slices.Clone(g.missing[id]) }

// LeftOut are references that are not waited for, because each would have closed a cycle.
func (g *Graph) LeftOut() []Edge { return slices.Clone(g.leftOut) }
