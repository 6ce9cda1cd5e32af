// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package diagram

import (
	"fmt"
	"strings"
)

// draw draws a graph from left to right, or downwards, and returns its width.
func (g *graph) draw(down bool) (svg string, width float64) {
	turn := func(x, y float64) (float64, float64) {
		if down {
			return y, x
		}
		return x, y
	}
	for _, n := range g.nodes {
		n.long, n.wide = turn(n.size())
	}
	width, height := turn(g.layout(func(l label) (float64, float64) { return turn(l.width()+8, l.height()+2) }))
	p := &picture{}
	for _, e := range g.edges {
		e.draw(p, turn)
	}
	for _, n := range g.nodes {
		x, y := turn(n.main, n.cross)
		w, h := turn(n.long, n.wide)
		n.draw(p, x, y, w, h)
	}
	return p.done(width, height, g.says()), width
}

// says names the edges, for those who do not see the picture.
func (g *graph) says() string {
	var parts []string
	for _, e := range g.edges {
		text := fmt.Sprintf("%s to %s", e.from.name(true), e.to.name(false))
		if e.label != nil {
			text += ": " + e.label.String()
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func (n *node) name(from bool) string {
	switch {
	case n.shape != dot:
		return n.label.String()
	case from:
		return "the start"
	}
	return "the end"
}

// size is the size of a node.
func (n *node) size() (width, height float64) {
	if n.shape == dot {
		return 14, 14
	}
	all := n.label
	if n.caption != "" {
		all = append(label{n.caption}, n.label...)
	}
	width, height = all.width()+2*padding, all.height()+padding
	switch n.shape {
	case decision, hexagon, slanted:
		width += 2 * padding
	case store:
		height += padding
	}
	return width, height
}

func (n *node) draw(p *picture, x, y, w, h float64) {
	l, r, t, b := x-w/2, x+w/2, y-h/2, y+h/2
	const cut = padding
	switch n.shape {
	case dot:
		p.add(`<circle class="dot" cx="%.1f" cy="%.1f" r="6"/>`, x, y)
		return
	case decision, hexagon:
		p.add(`<path class="node %s" d="M%.1f %.1fL%.1f %.1fH%.1fL%.1f %.1fL%.1f %.1fH%.1fZ"/>`, n.shape, l, y, l+cut, t, r-cut, r, y, r-cut, b, l+cut)
	case slanted:
		p.add(`<path class="node" d="M%.1f %.1fH%.1fL%.1f %.1fH%.1fZ"/>`, l+cut, t, r, r-cut, b, l)
	case store:
		p.add(`<path class="node" d="M%.1f %.1fa%.1f 5 0 0 1 %.1f 0V%.1fa%.1f 5 0 0 1 %.1f 0Z"/>`, l, t+5, w/2, w, b-5, w/2, -w)
		p.add(`<path class="rim" d="M%.1f %.1fa%.1f 5 0 0 0 %.1f 0"/>`, l, t+5, w/2, w)
		y += 3
	default:
		round := 3.0
		if n.shape == rounded {
			round = 10
		}
		p.add(`<rect class="node" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.0f"/>`, l, t, w, h, round)
	}
	if n.caption != "" {
		p.text(label{n.caption}, x, y-n.label.height()/2, "caption")
		y += line / 2
	}
	p.text(n.label, x, y, "")
}

// draw draws an edge as a curve through its bends.
func (e *edge) draw(p *picture, turn func(x, y float64) (float64, float64)) {
	way := 1.0
	if e.reversed {
		way = -1
	}
	if e.from == e.to {
		return
	}
	at := func(main, cross float64) string {
		x, y := turn(main, cross)
		return fmt.Sprintf("%.1f %.1f", x, y)
	}
	main, cross := e.from.main+way*e.from.long/2, e.from.cross
	path := "M" + at(main, cross)
	reach := func(toMain, toCross float64) {
		half := (main + toMain) / 2
		path += "C" + at(half, cross) + " " + at(half, toCross) + " " + at(toMain, toCross)
		main, cross = toMain, toCross
	}
	for _, b := range e.via {
		reach(b.main-way*b.long/2, b.cross)
		if b.long > 0 {
			main += way * b.long
			path += "L" + at(main, cross)
		}
	}
	end := e.to.main - way*e.to.long/2
	reach(end-way*6, e.to.cross)
	p.add(`<path class="edge %s" d="%s"/>`, e.style, path)
	if !e.open {
		x, y := turn(end, e.to.cross)
		dx, dy := turn(way, 0)
		p.head(x, y, dx, dy)
	}
	if b := e.lettered; b != nil {
		x, y := turn(b.main, b.cross)
		w, h := turn(b.long, b.wide)
		p.add(`<rect class="plate" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, x-w/2, y-h/2, w, h)
		p.text(e.label, x, y, "link")
	}
}
