// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package layered

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func columns(d Drawing) []int {
	var list []int
	for _, p := range d.Nodes {
		list = append(list, p.Column)
	}
	return list
}

func TestColumns(t *testing.T) {
	for name, c := range map[string]struct {
		n     int
		edges []Edge
		floor []int
		want  string
	}{
		"nothing":                               {0, nil, nil, "[]"},
		"alone":                                 {2, nil, nil, "[0 0]"},
		"a chain":                               {3, []Edge{{0, 1}, {1, 2}}, nil, "[0 1 2]"},
		"the longest way counts":                {3, []Edge{{0, 1}, {1, 2}, {0, 2}}, nil, "[0 1 2]"},
		"no column before the floor":            {3, []Edge{{0, 1}}, []int{0, 2, 5}, "[0 2 5]"},
		"an edge back does not move the others": {3, []Edge{{0, 1}, {1, 2}, {2, 0}}, nil, "[0 1 2]"},
		"an edge to itself":                     {1, []Edge{{0, 0}}, nil, "[0]"},
	} {
		if got := fmt.Sprint(columns(Of(c.n, c.edges, c.floor))); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func crossings(d Drawing, edges []Edge) (n int) {
	for i, e := range edges {
		for _, f := range edges[i+1:] {
			if (d.Nodes[e.From].Row-d.Nodes[f.From].Row)*(d.Nodes[e.To].Row-d.Nodes[f.To].Row) < 0 {
				n++
			}
		}
	}
	return n
}

func TestCrossedEdgesAreStraightened(t *testing.T) {
	edges := []Edge{{0, 7}, {1, 6}, {2, 5}, {3, 4}}
	if n := crossings(Of(8, edges, nil), edges); n != 0 {
		t.Errorf("%d crossings", n)
	}
}

func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "nodes")
		edges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Edge {
			return Edge{rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to")}
		}), 0, 20).Draw(t, "edges")
		d := Of(n, edges, nil)
		if again := Of(n, slices.Clone(edges), nil); fmt.Sprint(d) != fmt.Sprint(again) {
			t.Fatal("the same graph has two pictures")
		}
		for a := range n {
			if d.Nodes[a].Row < 0.5-1e-9 || d.Nodes[a].Row > d.Rows-0.5+1e-9 {
				t.Fatalf("node %d is outside: %v of %v", a, d.Nodes[a], d.Rows)
			}
			for b := range a {
				if d.Nodes[a].Column == d.Nodes[b].Column && abs(d.Nodes[a].Row-d.Nodes[b].Row) < 1-1e-9 {
					t.Fatalf("nodes %d and %d are in the same place: %v", a, b, d.Nodes)
				}
			}
		}
		for i, e := range edges {
			path := d.Paths[i]
			if path[0] != d.Nodes[e.From] || path[len(path)-1] != d.Nodes[e.To] {
				t.Fatalf("the path of %v is %v", e, path)
			}
		}
	})
}

func abs(x float64) float64 { return max(x, -x) }

func BenchmarkThousandNodes(b *testing.B) {
	var edges []Edge
	for i := 1; i < 1000; i++ {
		edges = append(edges, Edge{i / 3, i}, Edge{i / 7, i})
	}
	for b.Loop() {
		Of(1000, edges, nil)
	}
}
