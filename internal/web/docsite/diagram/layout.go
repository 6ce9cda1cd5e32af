// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package diagram

import (
	"cmp"
	"slices"
)

// box is something that has a place: a node, the label of an edge, or a bend of an edge. main is its
// centre along the direction of the flow, and cross its centre across it.
type box struct {
	main, cross float64
	// long and wide are its sizes in these directions.
	long, wide   float64
	layer        int
	before, next []*box
}

// route is the way of an edge: the boxes between its nodes, from its start to its end.
type route struct {
	via []*box
	// lettered is the box of its label, one of via.
	lettered *box
	reversed bool
}

const (
	// apart is the least space between layers, and between boxes of a layer.
	apart   = 34.0
	between = 16.0
	sweeps  = 10
)

// layout places everything: nodes in layers along the flow, and boxes of a layer across it. Nodes
// have their sizes already. measure returns the sizes of a label.
func (g *graph) layout(measure func(label) (long, wide float64)) (long, wide float64) {
	g.breakCycles()
	g.assignLayers()
	layers := g.boxes(measure)
	for _, layer := range layers {
		stackUp(layer)
	}
	for i := range sweeps {
		eachLayer(layers, i%2 == 0, order)
	}
	for i := range sweeps {
		eachLayer(layers, i%2 == 0, pull)
	}
	return settle(layers)
}

// breakCycles reverses the edges that lead back on a walk from the first node.
func (g *graph) breakCycles() {
	const open, done = 1, 2
	state := map[*node]int{}
	var visit func(n *node)
	visit = func(n *node) {
		state[n] = open
		for _, e := range g.edges {
			if e.from != n {
				continue
			}
			switch state[e.to] {
			case open:
				e.reversed = true
			case 0:
				visit(e.to)
			}
		}
		state[n] = done
	}
	for _, n := range g.nodes {
		if state[n] == 0 {
			visit(n)
		}
	}
}

// ends are the nodes of an edge in the direction of the flow.
func (e *edge) ends() (*node, *node) {
	if e.reversed {
		return e.to, e.from
	}
	return e.from, e.to
}

// assignLayers gives each node a layer after all that lead to it. A label has a layer of its own.
func (g *graph) assignLayers() {
	for changed := true; changed; {
		changed = false
		for _, e := range g.edges {
			from, to := e.ends()
			length := 1
			if e.label != nil {
				length = 2
			}
			if from != to && to.layer < from.layer+length {
				to.layer, changed = from.layer+length, true
			}
		}
	}
}

// boxes puts the nodes into layers, and bends and labels into the layers that edges pass.
func (g *graph) boxes(measure func(label) (long, wide float64)) [][]*box {
	var layers [][]*box
	put := func(b *box) {
		for len(layers) <= b.layer {
			layers = append(layers, nil)
		}
		layers[b.layer] = append(layers[b.layer], b)
	}
	for _, n := range g.nodes {
		put(&n.box)
	}
	for _, e := range g.edges {
		from, to := e.ends()
		last := &from.box
		for layer := from.layer + 1; layer < to.layer; layer++ {
			b := &box{layer: layer, wide: 2}
			if e.label != nil && e.lettered == nil {
				b.long, b.wide = measure(e.label)
				e.lettered = b
			}
			e.via = append(e.via, b)
			put(b)
			join(last, b)
			last = b
		}
		join(last, &to.box)
		if e.reversed {
			slices.Reverse(e.via)
		}
	}
	return layers
}

func join(a, b *box) { a.next, b.before = append(a.next, b), append(b.before, a) }

// eachLayer calls do for each layer, with the side of the neighbours that have been placed.
func eachLayer(layers [][]*box, forward bool, do func(layer []*box, neighbours func(*box) []*box)) {
	for i := range layers {
		if forward {
			do(layers[i], func(b *box) []*box { return b.before })
		} else {
			do(layers[len(layers)-1-i], func(b *box) []*box { return b.next })
		}
	}
}

// wish is where a box would be best: in the middle of its neighbours.
func wish(b *box, neighbours []*box) float64 {
	if len(neighbours) == 0 {
		return b.cross
	}
	sum := 0.0
	for _, n := range neighbours {
		sum += n.cross
	}
	return sum / float64(len(neighbours))
}

// order sorts a layer by the places of the neighbours.
func order(layer []*box, neighbours func(*box) []*box) {
	wishes := map[*box]float64{}
	for _, b := range layer {
		wishes[b] = wish(b, neighbours(b))
	}
	slices.SortStableFunc(layer, func(a, b *box) int { return cmp.Compare(wishes[a], wishes[b]) })
	stackUp(layer)
}

// stackUp places the boxes of a layer next to each other, around 0.
func stackUp(layer []*box) {
	at := -between
	for _, b := range layer {
		at += between + b.wide
	}
	at = -at / 2
	for _, b := range layer {
		b.cross = at + b.wide/2
		at += b.wide + between
	}
}

// pull moves boxes towards their neighbours. It keeps the order: both the places that are never less and
// those that are never more than wished keep the distances, and so does their middle.
func pull(layer []*box, neighbours func(*box) []*box) {
	n := len(layer)
	low, high := make([]float64, n), make([]float64, n)
	space := func(a, b *box) float64 { return (a.wide+b.wide)/2 + between }
	for i, b := range layer {
		low[i] = wish(b, neighbours(b))
		high[i] = low[i]
		if i > 0 {
			low[i] = max(low[i], low[i-1]+space(layer[i-1], b))
		}
	}
	for i := n - 2; i >= 0; i-- {
		high[i] = min(high[i], high[i+1]-space(layer[i], layer[i+1]))
	}
	for i, b := range layer {
		b.cross = (low[i] + high[i]) / 2
	}
}

// settle gives layers their places along the flow, and makes all places positive.
func settle(layers [][]*box) (long, wide float64) {
	least, most := 0.0, 0.0
	at := margin
	for i, layer := range layers {
		longest := 0.0
		for _, b := range layer {
			longest = max(longest, b.long)
			least, most = min(least, b.cross-b.wide/2), max(most, b.cross+b.wide/2)
		}
		if i > 0 {
			at += apart
		}
		for _, b := range layer {
			b.main = at + longest/2
		}
		at += longest
	}
	for _, layer := range layers {
		for _, b := range layer {
			b.cross += margin - least
		}
	}
	return at + margin, most - least + 2*margin
}
