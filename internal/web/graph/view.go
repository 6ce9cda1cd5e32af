// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/contracts/graph"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

const (
	// most limits the nodes of a picture, some is how many there are unless a person asks for more: a
	// page with a thousand nodes has 500 kB.
	most, some = 1000, 200
	// many is how many nodes are grouped unless a person asks for all of them.
	many = 150
	// defaultLevels is how far a focus reaches.
	defaultLevels = 2
	allLevels     = 1 << 30
)

// Values of Ask.Group besides the keys of labels.
const (
	byNamespace = "namespace"
	notGrouped  = "none"
)

// Ask is what a person asks for.
type Ask struct {
	// Query has words: parts of names, and kind:, state: and namespace: with a value.
	Query string
	// Group is byNamespace, notGrouped, the key of a label, or empty for the server's choice.
	Group string
	// Open are the groups whose members are shown.
	Open []string
	// Focus is a node's id, or NAMESPACE/NAME of a stack. Levels are the steps from it.
	Focus  string
	Levels int
	// Limit is how many nodes are shown.
	Limit int
}

// AskOf reads what the address of the page asks for.
func AskOf(q url.Values) Ask {
	a := Ask{Query: q.Get("q"), Group: q.Get("group"), Open: q["open"], Focus: q.Get("focus"), Levels: defaultLevels, Limit: some}
	if a.Focus != "" && !strings.Contains(a.Focus, ":") {
		a.Focus = "Terraform:" + a.Focus
	}
	if n, err := strconv.Atoi(q.Get("levels")); err == nil && n >= 1 {
		a.Levels = n
	} else if q.Get("levels") == "all" {
		a.Levels = allLevels
	}
	if n, err := strconv.Atoi(q.Get("limit")); err == nil && n >= 1 {
		a.Limit = min(n, most)
	}
	return a
}

// View is what is shown of a model.
type View struct {
	Nodes []*Node
	Edges []Edge
	// Focus is the node in the focus; nil for none.
	Focus *Node
	// Reaches are the nodes that a change of the focus reaches, in waves. Cycle is the way around, if
	// there is one.
	Reaches [][]*Node
	Cycle   string
	// Group is how nodes are grouped, empty if they are not. Cut counts nodes that are left out.
	Group string
	Cut   int
	// Total counts the nodes of the model, Namespaces the namespaces of the shown ones.
	Total, Namespaces int
}

// Show selects what is shown of a model.
func (m *Model) Show(a Ask) View {
	v := View{Total: len(m.Nodes)}
	shown := map[string]*Node{}
	for key, n := range m.Nodes {
		if n.matches(a.Query) {
			shown[key] = n
		}
	}
	if v.Focus = m.Nodes[a.Focus]; v.Focus != nil {
		near := m.near(a.Focus, a.Levels)
		maps.DeleteFunc(shown, func(key string, _ *Node) bool { return !near[key] })
		shown[a.Focus] = v.Focus
		v.Reaches, v.Cycle = m.reaches(a.Focus)
	}
	v.Group = a.Group
	if v.Group == "" && len(shown) > many {
		v.Group = byNamespace
	}
	if v.Group == notGrouped || v.Group == "" && len(shown) <= many {
		v.Group = ""
	}
	nodes, of := grouped(shown, v.Group, a)
	v.Nodes = slices.SortedFunc(maps.Values(nodes), inOrder)
	if limit := cmp.Or(a.Limit, some); len(v.Nodes) > limit {
		v.first()
		for _, n := range v.Nodes[limit:] {
			delete(nodes, n.ID)
		}
		v.Cut, v.Nodes = len(v.Nodes)-limit, v.Nodes[:limit:limit]
		slices.SortFunc(v.Nodes, inOrder)
	}
	namespaces := map[string]bool{}
	for _, n := range v.Nodes {
		namespaces[n.Namespace] = true
	}
	v.Namespaces = len(namespaces)
	v.Edges = m.between(nodes, of)
	return v
}

// first puts those nodes first that should be left out last: the focus, and those that need somebody.
func (v *View) first() {
	rank := func(n *Node) int {
		switch {
		case n == v.Focus:
			return 0
		case n.Bad > 0 || n.Kind != Group && n.State.Rank() <= standing.Drift.Rank():
			return 1
		}
		return 2 + n.rank()
	}
	slices.SortStableFunc(v.Nodes, func(a, b *Node) int { return rank(a) - rank(b) })
}

// matches reports whether a node has all words of a query.
func (n *Node) matches(query string) bool {
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		field, value, narrow := strings.Cut(word, ":")
		has := strings.Contains(strings.ToLower(n.Key()), word)
		if narrow {
			switch field {
			case "kind":
				has = string(n.Kind) == value || strings.ToLower(n.Type) == value
			case "state", "status":
				has = string(n.State) == value
			case "namespace", "ns":
				has = n.Namespace == value
			default:
				has = labelled(n.Labels, field, value)
			}
		}
		if !has {
			return false
		}
	}
	return true
}

// labelled reports whether a label has a value, in any case: words of a query are in lower case.
func labelled(labels map[string]string, name, value string) bool {
	for key, text := range labels {
		if strings.EqualFold(key, name) && strings.EqualFold(text, value) {
			return true
		}
	}
	return false
}

// near are the nodes within some levels of one, with and against the edges.
func (m *Model) near(from string, levels int) map[string]bool {
	next, before := map[string][]string{}, map[string][]string{}
	for _, e := range m.Edges {
		next[e.From], before[e.To] = append(next[e.From], e.To), append(before[e.To], e.From)
	}
	near := map[string]bool{from: true}
	for _, way := range []map[string][]string{next, before} {
		seen := map[string]bool{from: true}
		for level, at := 0, []string{from}; level < levels && len(at) > 0; level++ {
			var further []string
			for _, key := range at {
				for _, to := range way[key] {
					if !seen[to] {
						seen[to], near[to] = true, true
						further = append(further, to)
					}
				}
			}
			at = further
		}
	}
	return near
}

// reaches are the nodes that a change of one reaches. Order alone carries no change.
func (m *Model) reaches(from string) (waves [][]*Node, cycle string) {
	var edges []graph.Edge
	for _, e := range m.Edges {
		if !e.Soft {
			edges = append(edges, graph.Edge{Producer: e.From, Consumer: e.To})
		}
	}
	keys, around := graph.New(edges).Reach(from)
	for _, wave := range keys {
		var nodes []*Node
		for _, key := range wave {
			nodes = append(nodes, m.Nodes[key])
		}
		slices.SortFunc(nodes, inOrder)
		if len(nodes) > 0 {
			waves = append(waves, nodes)
		}
	}
	for i, key := range around {
		around[i] = m.Nodes[key].Key()
	}
	return waves, graph.Arrows(around)
}

// grouped puts nodes of closed groups together, and returns the node that stands for each.
func grouped(shown map[string]*Node, by string, a Ask) (nodes map[string]*Node, of map[string]string) {
	nodes, of = map[string]*Node{}, map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(shown)) {
		n := shown[key]
		value := n.Labels[by]
		if by == byNamespace {
			value = n.Namespace
		}
		if by == "" || value == "" || slices.Contains(a.Open, value) || key == a.Focus {
			nodes[key], of[key] = n, key
			continue
		}
		whole := "group:" + string(n.Kind) + ":" + value
		g := nodes[whole]
		if g == nil {
			g = &Node{ID: whole, Kind: Group, Type: string(n.Kind), Name: value, State: standing.Ready}
			nodes[whole] = g
		}
		g.Size++
		g.State = standing.Worst(g.State, n.State)
		if n.State.Rank() <= standing.Drift.Rank() {
			g.Bad++
		}
		of[key] = whole
	}
	return nodes, of
}

// between are the edges between the shown nodes.
func (m *Model) between(nodes map[string]*Node, of map[string]string) []Edge {
	count := map[Edge]int{}
	for _, e := range m.Edges {
		from, to := of[e.From], of[e.To]
		if nodes[from] == nil || nodes[to] == nil || from == to {
			continue
		}
		merged := Edge{From: from, To: to, How: e.How, Soft: e.Soft}
		if nodes[from].Kind == Group || nodes[to].Kind == Group {
			merged.How, merged.Soft = "", false
		}
		count[merged]++
	}
	edges := make([]Edge, 0, len(count))
	for e, n := range count {
		e.Count = n
		edges = append(edges, e)
	}
	slices.SortFunc(edges, func(a, b Edge) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), strings.Compare(a.How, b.How))
	})
	return edges
}

var kinds = []Kind{Source, Kustomization, Stack, Contract, Outputs, Tenant, Application}

// inOrder sorts nodes by the flow of changes, and by name.
func inOrder(a, b *Node) int {
	return cmp.Or(a.rank()-b.rank(), strings.Compare(a.Key(), b.Key()), strings.Compare(a.ID, b.ID))
}

func (n *Node) rank() int {
	if n.Kind == Group {
		return slices.Index(kinds, Kind(n.Type))
	}
	return slices.Index(kinds, n.Kind)
}
