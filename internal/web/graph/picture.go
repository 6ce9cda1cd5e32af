// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/web/graph/layered"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// The measures of a picture.
const (
	columnWidth, rowHeight = 236.0, 42.0
	nodeWidth, nodeHeight  = 186.0, 30.0
	margin                 = 12.0
	// letters fit into a node.
	letters = 20
)

// picture is a drawn view.
type picture struct {
	Width, Height int
	// Shown are the width and height in the page.
	ShownWidth, ShownHeight int
	Nodes                   []shape
	Lines                   []line
	// Outlines are the shapes of kinds, which nodes name.
	Outlines []outlined
}

// outlined is the shape of a kind.
type outlined struct {
	Name Kind
	Path string
}

type shape struct {
	Class, Address, Title, Text, Mark string
	Outline                           Kind
	X, Y                              int
	Focus                             bool
}

type line struct {
	Path, Title string
	Soft        bool
}

// marks are the shapes of states, the same as in the stylesheet.
var marks = map[standing.State]string{
	standing.Ready: "✓", standing.Failed: "✕", standing.Pending: "!", standing.Running: "▶", standing.Drift: "≠", standing.Waiting: "…",
	standing.Suspended: "‖", standing.Deleting: "⌫", standing.Missing: "?", standing.Refused: "○",
}

// draw draws a view. Links lead to other views of the page at an address.
func draw(v View, at *url.URL, zoom int) picture {
	number := map[string]int{}
	for i, n := range v.Nodes {
		number[n.ID] = i
	}
	// Groups of the same kind need each other in circles: they stay in one column.
	beside := func(e Edge) bool {
		from, to := v.Nodes[number[e.From]], v.Nodes[number[e.To]]
		return from.Kind == Group && to.Kind == Group && from.Type == to.Type
	}
	var edges []layered.Edge
	for _, e := range v.Edges {
		if !beside(e) {
			edges = append(edges, layered.Edge{From: number[e.From], To: number[e.To]})
		}
	}
	d := layered.Of(len(v.Nodes), edges, floors(v.Nodes))
	p := picture{Width: int(float64(max(d.Columns, 1))*columnWidth + 2*margin), Height: int(max(d.Rows, 1)*rowHeight + 2*margin)}
	p.ShownWidth, p.ShownHeight = p.Width*zoom/100, p.Height*zoom/100
	for _, k := range append(slices.Clone(kinds), Group) {
		if slices.ContainsFunc(v.Nodes, func(n *Node) bool { return n.Kind == k }) {
			p.Outlines = append(p.Outlines, outlined{k, outline(k)})
		}
	}
	for i, n := range v.Nodes {
		p.Nodes = append(p.Nodes, shapeOf(n, d.Nodes[i], v, at))
	}
	next := 0
	for _, e := range v.Edges {
		path := arc(d.Nodes[number[e.From]], d.Nodes[number[e.To]])
		if !beside(e) {
			path = curve(d.Paths[next])
			next++
		}
		l := line{Path: path, Title: v.Nodes[number[e.From]].label() + " → " + v.Nodes[number[e.To]].label(), Soft: e.Soft}
		if e.How != "" {
			l.Title += ": " + e.How
		}
		if e.Count > 1 {
			l.Title += fmt.Sprintf(" (%d)", e.Count)
		}
		l.Title = diagnostic.Printable(l.Title)
		p.Lines = append(p.Lines, l)
	}
	return p
}

// floors puts sources, Kustomizations and stacks into columns of their own.
func floors(nodes []*Node) []int {
	has := map[int]bool{}
	for _, n := range nodes {
		has[n.rank()] = true
	}
	column, next := map[int]int{}, 0
	for rank := range kinds {
		column[rank] = next
		if has[rank] && rank < 2 {
			next++
		}
	}
	floor := make([]int, len(nodes))
	for i, n := range nodes {
		floor[i] = column[n.rank()]
	}
	return floor
}

func shapeOf(n *Node, at layered.Point, v View, address *url.URL) shape {
	x, y := left(at), middle(at)-nodeHeight/2
	s := shape{Outline: n.Kind, Class: string(n.Kind) + " " + string(n.State), Mark: marks[n.State], X: int(x), Y: int(y), Focus: n == v.Focus,
		Text: short(n.Name), Title: n.label() + ": " + string(n.State)}
	if n.Kind == Group {
		s.Class = "group " + n.Type + " " + string(n.State)
		s.Text = fmt.Sprintf("%s: %d", short(n.Name), n.Size)
		s.Title = fmt.Sprintf("%s: %s. Open the group", n.label(), n.State)
		s.Address = opened(address, n.Name)
	} else {
		s.Address = focused(address, n.ID)
		if n.Says != "" {
			s.Title += ": " + n.Says
		}
	}
	if n.Kind != Group && v.Namespaces > 1 {
		s.Text = short(n.Key())
	}
	s.Title = diagnostic.Printable(s.Title)
	return s
}

// label names a node for people.
func (n *Node) label() string {
	if n.Kind == Group {
		return fmt.Sprintf("%d × %s of %s", n.Size, n.Type, n.Name)
	}
	return string(n.Kind) + " " + n.Key()
}

func focused(at *url.URL, id string) string { return pieces.With(at, "focus", id, "page", "") }

// opened adds a group to the open ones.
func opened(at *url.URL, group string) string {
	q := at.Query()
	q.Del("marks")
	q.Del("page")
	q.Add("open", group)
	return at.Path + "?" + q.Encode()
}

// outline is the shape of a kind of node, from its left upper corner.
func outline(k Kind) string {
	const w, h = int(nodeWidth), int(nodeHeight)
	switch k {
	case Source:
		return fmt.Sprintf("M15 0H%dA15 15 0 0 1 %d %dH15A15 15 0 0 1 15 0Z", w-15, w-15, h)
	case Kustomization:
		return fmt.Sprintf("M10 0H%dL%d %dH0Z", w, w-10, h)
	case Contract:
		return fmt.Sprintf("M12 0H%dL%d %dL%d %dH12L0 %dZ", w-12, w, h/2, w-12, h, h/2)
	case Outputs:
		return fmt.Sprintf("M0 0H%dL%d 10V%dH0Z", w-10, w, h)
	case Tenant:
		return fmt.Sprintf("M8 0H%dL%d 8V%dL%d %dH8L0 %dV8Z", w-8, w, h-8, w-8, h, h-8)
	case Application:
		return fmt.Sprintf("M0 0H%dL%d %dH10Z", w, w-10, h)
	case Group:
		return fmt.Sprintf("M0 0H%dV%dH0ZM4 %dV%dH%dV4H%dV%dZ", w-4, h-4, h-4, h, w, w-4, h-4)
	}
	return fmt.Sprintf("M0 0H%dV%dH0Z", w, h)
}

func left(p layered.Point) float64   { return margin + float64(p.Column)*columnWidth }
func middle(p layered.Point) float64 { return margin + p.Row*rowHeight }

// curve leads through the places of an edge, horizontally at each.
func curve(path []layered.Point) string {
	var b strings.Builder
	for i := 0; i+1 < len(path); i++ {
		from, to := path[i], path[i+1]
		x1, x2 := left(from)+nodeWidth, left(to)
		if from.Column > to.Column { // an edge of a cycle, against the flow
			x1, x2 = left(from), left(to)+nodeWidth
		}
		y1, y2, half := middle(from), middle(to), (x1+x2)/2
		if i == 0 {
			fmt.Fprintf(&b, "M%.0f %.0f", x1, y1)
		} else {
			fmt.Fprintf(&b, "H%.0f", x1)
		}
		fmt.Fprintf(&b, "C%.0f %.0f %.0f %.0f %.0f %.0f", half, y1, half, y2, x2, y2)
	}
	return b.String()
}

// arc leads from a group to one in the same column.
func arc(from, to layered.Point) string {
	if from.Column != to.Column {
		return curve([]layered.Point{from, to})
	}
	x, y1, y2 := left(from)+nodeWidth, middle(from), middle(to)
	const bow = (columnWidth - nodeWidth) * 0.9
	return fmt.Sprintf("M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", x, y1, x+bow, y1, x+bow, y2, x, y2)
}

// short cuts a name to what fits, and keeps its end, in which names differ.
func short(name string) string {
	name = diagnostic.Printable(name)
	if utf8.RuneCountInString(name) <= letters {
		return name
	}
	runes := []rune(name)
	const head = letters / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(letters-head-1):])
}
