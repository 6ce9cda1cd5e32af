// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package layered places the nodes of a directed graph in columns, so that edges lead from left to right
// and cross each other seldom. It is the method of Sugiyama, Tagawa and Toda in four steps: reverse the edges
// that close cycles, give each node its column, order each column by the medians of the neighbours,
// and move nodes towards their neighbours.
//
// It is pure: nodes and edges are numbers, and places are steps of columns and rows. The same graph
// has the same picture. The effort is about edges × columns, so large graphs are grouped before.
package layered

import (
	"cmp"
	"slices"
)

// Edge leads from a node to another one, by their numbers.
type Edge struct{ From, To int }

// Point is a place: a column, and a row that need not be whole.
type Point struct {
	Column int
	Row    float64
}

// Drawing is where everything is.
type Drawing struct {
	// Nodes are the places of the nodes.
	Nodes []Point
	// Paths are the places that the edges lead through, their ends included, in the order of the edges.
	Paths   [][]Point
	Columns int
	Rows    float64
}

const (
	// sweeps is how often columns are ordered, back and forth.
	sweeps = 8
	// bend is the height of a place that an edge passes; a node has 1.
	bend = 0.35
	// maxBends limits the places that edges pass: beyond that they are straight.
	maxBends = 1500
)

type layout struct {
	n      int
	column []int
	// height, next and before are of nodes and then of bends.
	height       []float64
	next, before [][]int
	columns      [][]int
	row          []float64
	chains       [][]int
}

// Of places n nodes. floor are the least columns of nodes; nil for none.
func Of(n int, edges []Edge, floor []int) Drawing {
	l := &layout{n: n}
	forward := acyclic(n, edges)
	l.column = columnsOf(n, forward, floor)
	l.place(edges, forward)
	for i := range sweeps {
		l.sweep(i%2 == 0)
	}
	l.stack()
	for i := range sweeps {
		l.pull(i%2 == 0)
	}
	return l.drawing(edges)
}

// acyclic turns the edges that close cycles around: those that lead back on a walk from the first node.
func acyclic(n int, edges []Edge) []Edge {
	out := make([][]int, n)
	for i, e := range edges {
		out[e.From] = append(out[e.From], i)
	}
	forward := slices.Clone(edges)
	const unseen, open, done = 0, 1, 2
	state, at := make([]int, n), make([]int, n)
	for root := range n {
		if state[root] != unseen {
			continue
		}
		state[root] = open
		for path := []int{root}; len(path) > 0; {
			v := path[len(path)-1]
			if at[v] == len(out[v]) {
				state[v] = done
				path = path[:len(path)-1]
				continue
			}
			i := out[v][at[v]]
			at[v]++
			switch to := edges[i].To; state[to] {
			case open:
				forward[i] = Edge{to, v}
			case unseen:
				state[to] = open
				path = append(path, to)
			}
		}
	}
	return forward
}

// columnsOf gives each node the column after all that lead to it.
func columnsOf(n int, edges []Edge, floor []int) []int {
	column, open := make([]int, n), make([]int, n)
	copy(column, floor)
	out := make([][]int, n)
	for _, e := range edges {
		if e.From != e.To {
			out[e.From] = append(out[e.From], e.To)
			open[e.To]++
		}
	}
	var ready []int
	for v := range n {
		if open[v] == 0 {
			ready = append(ready, v)
		}
	}
	for ; len(ready) > 0; ready = ready[1:] {
		v := ready[0]
		for _, to := range out[v] {
			column[to] = max(column[to], column[v]+1)
			if open[to]--; open[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	return column
}

// place puts nodes into columns, and bends where edges pass columns.
func (l *layout) place(edges, forward []Edge) {
	l.height, l.next, l.before = make([]float64, l.n), make([][]int, l.n), make([][]int, l.n)
	for v := range l.n {
		l.height[v] = 1
	}
	bends := 0
	for _, e := range forward {
		bends += max(0, l.column[e.To]-l.column[e.From]-1)
	}
	l.chains = make([][]int, len(edges))
	for i, e := range forward {
		chain := []int{e.From}
		for c := l.column[e.From] + 1; c < l.column[e.To] && bends <= maxBends; c++ {
			v := len(l.height)
			l.height, l.column = append(l.height, bend), append(l.column, c)
			l.next, l.before = append(l.next, nil), append(l.before, nil)
			l.join(chain[len(chain)-1], v)
			chain = append(chain, v)
		}
		l.join(chain[len(chain)-1], e.To)
		if chain = append(chain, e.To); e.From != edges[i].From {
			slices.Reverse(chain)
		}
		l.chains[i] = chain
	}
	for v, c := range l.column {
		for len(l.columns) <= c {
			l.columns = append(l.columns, nil)
		}
		l.columns[c] = append(l.columns[c], v)
	}
	l.row = make([]float64, len(l.height))
	for _, list := range l.columns {
		for i, v := range list {
			l.row[v] = float64(i)
		}
	}
}

func (l *layout) join(from, to int) {
	l.next[from], l.before[to] = append(l.next[from], to), append(l.before[to], from)
}

// eachColumn calls do for each column with the neighbours of its nodes in the columns that came before.
func (l *layout) eachColumn(rightwards bool, do func(list []int, neighbours [][]int)) {
	for i := range l.columns {
		if rightwards {
			do(l.columns[i], l.before)
		} else {
			do(l.columns[len(l.columns)-1-i], l.next)
		}
	}
}

// sweep orders each column by the medians of the neighbours.
func (l *layout) sweep(rightwards bool) {
	l.eachColumn(rightwards, func(list []int, neighbours [][]int) {
		wish := map[int]float64{}
		for _, v := range list {
			wish[v] = l.median(neighbours[v], l.row[v])
		}
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(wish[a], wish[b]) })
		for i, v := range list {
			l.row[v] = float64(i)
		}
	})
}

func (l *layout) median(of []int, none float64) float64 {
	if len(of) == 0 {
		return none
	}
	rows := make([]float64, len(of))
	for i, v := range of {
		rows[i] = l.row[v]
	}
	slices.Sort(rows)
	return (rows[(len(rows)-1)/2] + rows[len(rows)/2]) / 2
}

// stack gives each column its heights.
func (l *layout) stack() {
	for _, list := range l.columns {
		at := 0.0
		for _, v := range list {
			l.row[v] = at + l.height[v]/2
			at += l.height[v]
		}
	}
}

// pull moves nodes towards their neighbours without changing their order: down as far as they wish,
// from the last one up, and then up, from the first one down.
func (l *layout) pull(rightwards bool) {
	l.eachColumn(rightwards, func(list []int, neighbours [][]int) {
		wish := make([]float64, len(list))
		for i, v := range list {
			wish[i] = l.median(neighbours[v], l.row[v])
		}
		least := 0.0
		for i, v := range list {
			l.row[v] = max(least+l.height[v]/2, wish[i])
			least = l.row[v] + l.height[v]/2
		}
		for i := len(list) - 1; i > 0; i-- {
			v, above := list[i-1], list[i]
			most := l.row[above] - (l.height[above]+l.height[v])/2
			if gap := most - l.row[v]; gap > 0 && wish[i-1] > l.row[v] {
				l.row[v] = min(most, wish[i-1])
			}
		}
	})
}

func (l *layout) drawing(edges []Edge) Drawing {
	d := Drawing{Nodes: make([]Point, l.n), Paths: make([][]Point, len(edges)), Columns: len(l.columns)}
	for v := range l.height {
		if v < l.n {
			d.Nodes[v] = Point{l.column[v], l.row[v]}
		}
		d.Rows = max(d.Rows, l.row[v]+l.height[v]/2)
	}
	for i, chain := range l.chains {
		for _, v := range chain {
			d.Paths[i] = append(d.Paths[i], Point{l.column[v], l.row[v]})
		}
	}
	return d
}
