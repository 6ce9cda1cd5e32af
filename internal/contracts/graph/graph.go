// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"maps"
	"slices"
	"strings"
)

// Edge is a contract between two stacks.
type Edge struct{ Producer, Consumer string }

// Graph is the graph of all edges.
type Graph struct {
	consumers map[string][]string
	names     []string
}

// New returns the graph of the edges, and of stacks without any.
func New(edges []Edge, alone ...string) Graph {
	g := Graph{consumers: map[string][]string{}}
	for _, name := range alone {
		g.consumers[name] = nil
	}
	for _, e := range edges {
		g.consumers[e.Producer] = append(g.consumers[e.Producer], e.Consumer)
		if _, found := g.consumers[e.Consumer]; !found {
			g.consumers[e.Consumer] = nil
		}
	}
	for name, list := range g.consumers {
		slices.Sort(list)
		g.consumers[name] = slices.Compact(list)
	}
	g.names = slices.Sorted(maps.Keys(g.consumers))
	return g
}

// Consumers returns the direct consumers of a stack, sorted.
func (g Graph) Consumers(of string) []string { return slices.Clone(g.consumers[of]) }

// Waves returns all stacks in the order in which they may run, or the cycle that prevents it.
func (g Graph) Waves() (waves [][]string, cycle []string) {
	open := map[string]int{} // producers that are not in a wave yet
	for _, list := range g.consumers {
		for _, consumer := range list {
			open[consumer]++
		}
	}
	var wave []string
	for _, name := range g.names {
		if open[name] == 0 {
			wave = append(wave, name)
		}
	}
	placed := 0
	for len(wave) > 0 {
		waves, placed = append(waves, wave), placed+len(wave)
		var next []string
		for _, name := range wave {
			for _, consumer := range g.consumers[name] {
				if open[consumer]--; open[consumer] == 0 {
					next = append(next, consumer)
				}
			}
		}
		slices.Sort(next)
		wave = next
	}
	if placed < len(g.names) {
		return nil, g.cycle(open)
	}
	return waves, nil
}

// cycle returns a cycle among stacks that are in no wave. Each of them waits for a producer that is
// not in a wave either, so a walk against the edges ends in a cycle.
func (g Graph) cycle(open map[string]int) []string {
	producer := map[string]string{}
	for _, name := range g.names {
		if open[name] == 0 {
			continue
		}
		for _, consumer := range g.consumers[name] {
			if _, found := producer[consumer]; !found {
				producer[consumer] = name
			}
		}
	}
	first := slices.IndexFunc(g.names, func(name string) bool { return open[name] > 0 })
	seen, at := map[string]bool{}, g.names[first]
	for !seen[at] {
		seen[at] = true
		at = producer[at]
	}
	cycle := []string{at}
	for next := producer[at]; next != at; next = producer[next] {
		cycle = append(cycle, next)
	}
	slices.Reverse(cycle)
	return fromSmallest(cycle)
}

// Cycle returns the cycle that a new edge would close, or nil. It walks only what the consumer
// leads to.
func (g Graph) Cycle(e Edge) []string {
	if e.Producer == e.Consumer {
		return []string{e.Producer}
	}
	before := map[string]string{e.Consumer: ""}
	for queue := []string{e.Consumer}; len(queue) > 0; queue = queue[1:] {
		for _, consumer := range g.consumers[queue[0]] {
			if _, seen := before[consumer]; seen {
				continue
			}
			before[consumer] = queue[0]
			if consumer != e.Producer {
				queue = append(queue, consumer)
				continue
			}
			var cycle []string
			for at := consumer; at != ""; at = before[at] {
				cycle = append(cycle, at)
			}
			slices.Reverse(cycle)
			return fromSmallest(cycle)
		}
	}
	return nil
}

// fromSmallest turns a cycle so that it begins with the smallest name.
func fromSmallest(cycle []string) []string {
	i := slices.Index(cycle, slices.Min(cycle))
	return slices.Concat(cycle[i:], cycle[:i])
}

// Arrows writes a cycle: a → b → a.
func Arrows(cycle []string) string {
	if len(cycle) == 0 {
		return ""
	}
	return strings.Join(append(slices.Clone(cycle), cycle[0]), " → ")
}

// Cone returns the waves of what could run when the stacks change; one of themselves only if it
// consumes, directly or not, from another one. A graph with a cycle has none.
func (g Graph) Cone(from ...string) [][]string {
	waves, _ := g.cone(from)
	return waves
}

// Reach is Cone for one stack, which it never contains. If there is a cycle, it returns it, and all
// stacks in one wave.
func (g Graph) Reach(from string) (waves [][]string, cycle []string) {
	waves, cycle = g.ReachAll(from)
	for i := range waves {
		waves[i] = slices.DeleteFunc(waves[i], func(name string) bool { return name == from })
	}
	return waves, cycle
}

// ReachAll is Cone for several stacks. If there is a cycle, it returns it, and all stacks in one wave.
func (g Graph) ReachAll(from ...string) (waves [][]string, cycle []string) {
	waves, cycle = g.cone(from)
	if cycle != nil {
		waves = [][]string{slices.Sorted(maps.Keys(g.behind(from)))}
	}
	return waves, cycle
}

// behind are the stacks that the stacks lead to.
func (g Graph) behind(from []string) map[string]bool {
	within := map[string]bool{}
	for queue := slices.Clone(from); len(queue) > 0; queue = queue[1:] {
		for _, consumer := range g.consumers[queue[0]] {
			if !within[consumer] {
				within[consumer] = true
				queue = append(queue, consumer)
			}
		}
	}
	return within
}

func (g Graph) cone(from []string) (waves [][]string, cycle []string) {
	within := g.behind(from)
	var edges []Edge
	for name := range within {
		for _, consumer := range g.consumers[name] {
			edges = append(edges, Edge{name, consumer})
		}
	}
	return New(edges, slices.Collect(maps.Keys(within))...).Waves()
}
