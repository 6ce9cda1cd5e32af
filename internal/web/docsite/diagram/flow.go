// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package diagram

import (
	"fmt"
	"regexp"
	"strings"
)

// graph is a flowchart, or the states of something.
type graph struct {
	nodes []*node
	byID  map[string]*node
	edges []*edge
}

type node struct {
	label label
	// caption is the title of its subgraph.
	caption string
	shape   shape
	box
}

// shape is how a node looks.
type shape string

const (
	rectangle shape = "rectangle"
	rounded   shape = "rounded"
	store     shape = "store"
	decision  shape = "decision"
	hexagon   shape = "hexagon"
	slanted   shape = "slanted"
	dot       shape = "dot"
)

// shapes are the brackets around a node's label; longer ones come first.
var shapes = []struct {
	open, close string
	shape       shape
}{
	{"[(", ")]", store}, {"[/", "/]", slanted}, {"([", "])", rounded}, {"((", "))", rounded}, {"{{", "}}", hexagon},
	{"[", "]", rectangle}, {"(", ")", rounded}, {"{", "}", decision},
}

type edge struct {
	from, to *node
	label    label
	// style is "", "dotted" or "thick". open edges have no point.
	style string
	open  bool
	route
}

// add returns the node of an id, which it makes if there is none.
func (g *graph) add(id string) *node {
	if g.byID == nil {
		g.byID = map[string]*node{}
	}
	n := g.byID[id]
	if n == nil {
		n = &node{label: label{id}, shape: rectangle}
		g.byID[id] = n
		g.nodes = append(g.nodes, n)
	}
	return n
}

var subgraph = regexp.MustCompile(`^subgraph\s+(\w+)\s*(?:\[(.*)\])?$`)

func parseFlow(lines []string) (*graph, error) {
	g, caption := &graph{}, ""
	for _, text := range lines {
		text = strings.TrimSpace(text)
		if found := subgraph.FindStringSubmatch(text); found != nil {
			if caption = labelOf(found[2]).String(); caption == "" {
				caption = found[1]
			}
			continue
		}
		if text == "end" {
			caption = ""
			continue
		}
		if text == "" || strings.HasPrefix(text, "%%") {
			continue
		}
		if err := g.statement(text, caption); err != nil {
			return nil, err
		}
	}
	if len(g.nodes) == 0 {
		return nil, fmt.Errorf("a flowchart without nodes")
	}
	return g, nil
}

// statement reads nodes with links between them: a & b -- text --> c.
func (g *graph) statement(text, caption string) error {
	rest := text
	var before []*node
	var link edge
	for {
		group, after, err := g.group(rest, caption)
		if err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
		for _, from := range before {
			for _, to := range group {
				e := link
				e.from, e.to = from, to
				g.edges = append(g.edges, &e)
			}
		}
		if after == "" {
			return nil
		}
		if link, rest, err = readLink(after); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
		before = group
	}
}

// group reads nodes that are joined by "&".
func (g *graph) group(text, caption string) ([]*node, string, error) {
	var group []*node
	for {
		n, rest, err := g.node(strings.TrimSpace(text), caption)
		if err != nil {
			return nil, "", err
		}
		group = append(group, n)
		rest = strings.TrimSpace(rest)
		if !strings.HasPrefix(rest, "&") {
			return group, rest, nil
		}
		text = rest[1:]
	}
}

var id = regexp.MustCompile(`^\w+`)

func (g *graph) node(text, caption string) (*node, string, error) {
	name := id.FindString(text)
	if name == "" {
		return nil, "", fmt.Errorf("no node at %q", text)
	}
	n, rest := g.add(name), text[len(name):]
	if caption != "" {
		n.caption = caption
	}
	for _, s := range shapes {
		inner, ok := strings.CutPrefix(rest, s.open)
		if !ok {
			continue
		}
		end := s.close
		if strings.HasPrefix(inner, `"`) {
			end = `"` + s.close
		}
		within, after, ok := strings.Cut(inner, end)
		if !ok {
			return nil, "", fmt.Errorf("%q has no %s", rest, s.close)
		}
		n.label, n.shape = labelOf(strings.TrimPrefix(within, `"`)), s.shape
		return n, after, nil
	}
	return n, rest, nil
}

// links are the ways to write a link, plain or with a text between open and close.
var links = []struct{ plain, open, close, style string }{
	{"-->", "--", "-->", ""}, {"-.->", "-.", ".->", "dotted"}, {"==>", "==", "==>", "thick"},
}

func readLink(text string) (edge, string, error) {
	if rest, ok := strings.CutPrefix(text, "---"); ok {
		return edge{open: true}, rest, nil
	}
	for _, l := range links {
		if rest, ok := strings.CutPrefix(text, l.plain); ok {
			e := edge{style: l.style}
			if inner, ok := strings.CutPrefix(strings.TrimSpace(rest), "|"); ok {
				within, after, ok := strings.Cut(inner, "|")
				if !ok {
					return edge{}, "", fmt.Errorf("%q has no second |", text)
				}
				e.label, rest = labelOf(within), after
			}
			return e, rest, nil
		}
		if inner, ok := strings.CutPrefix(text, l.open); ok {
			if within, after, ok := strings.Cut(inner, l.close); ok {
				return edge{style: l.style, label: labelOf(within)}, after, nil
			}
		}
	}
	return edge{}, "", fmt.Errorf("no link at %q", text)
}

var transition = regexp.MustCompile(`^(\w+|\[\*\])\s*-->\s*(\w+|\[\*\])\s*(?::\s*(.*))?$`)

func parseStates(lines []string) (*graph, error) {
	g := &graph{}
	for _, text := range lines {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		found := transition.FindStringSubmatch(text)
		if found == nil {
			return nil, fmt.Errorf("%q is not a transition", text)
		}
		from, to := g.state(found[1], "start"), g.state(found[2], "end")
		g.edges = append(g.edges, &edge{from: from, to: to, label: labelOf(found[3])})
	}
	if len(g.nodes) == 0 {
		return nil, fmt.Errorf("a diagram without states")
	}
	return g, nil
}

func (g *graph) state(name, point string) *node {
	if name == "[*]" {
		n := g.add("[*] " + point)
		n.label, n.shape = nil, dot
		return n
	}
	n := g.add(name)
	n.shape = rounded
	return n
}
