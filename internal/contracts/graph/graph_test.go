// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func edges(text string) []Edge {
	var out []Edge
	for one := range strings.FieldsSeq(text) {
		producer, consumer, _ := strings.Cut(one, ">")
		out = append(out, Edge{producer, consumer})
	}
	return out
}

func TestWaves(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "[] []",
		"base>cluster cluster>a":   "[[base] [cluster] [a]] []",
		"base>a base>b a>c base>c": "[[base] [a b] [c]] []",
		"a>b a>b":                  "[[a] [b]] []",
		"a>a":                      "[] [a]",
		"x>b b>c c>a a>b c>d":      "[] [a b c]",
		"c>b b>a a>c":              "[] [a c b]",
	} {
		waves, cycle := New(edges(text)).Waves()
		if got := fmt.Sprint(waves, cycle); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestCycle(t *testing.T) {
	g := New(edges("a>b b>c b>d"))
	for text, want := range map[string]string{"c>a": "a → b → c → a", "d>b": "b → d → b", "a>d": "", "x>x": "x → x", "d>c": "", "c>new": ""} {
		if got := Arrows(g.Cycle(edges(text)[0])); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestCone(t *testing.T) {
	g := New(edges("base>cluster cluster>apps base>apps apps>dns other>dns"), "alone")
	for from, want := range map[string]string{
		"base": "[[cluster] [apps] [dns]]", "cluster": "[[apps] [dns]]", "dns": "[]", "alone": "[]", "base apps": "[[cluster] [apps] [dns]]",
	} {
		if got := fmt.Sprint(g.Cone(strings.Fields(from)...)); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}

func TestLaws(t *testing.T) {
	draw := func(t *rapid.T) []Edge {
		name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"})
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Edge {
			return Edge{name.Draw(t, "producer"), name.Draw(t, "consumer")}
		}), 0, 8).Draw(t, "edges")
	}
	rapid.Check(t, func(t *rapid.T) {
		list := draw(t)
		g := New(list)
		waves, cycle := g.Waves()
		other, otherCycle := New(rapid.Permutation(list).Draw(t, "other order")).Waves()
		if fmt.Sprint(waves, cycle) != fmt.Sprint(other, otherCycle) {
			t.Fatalf("the order of edges counts: %v %v, %v %v", waves, cycle, other, otherCycle)
		}
		for i, name := range cycle {
			if !slices.Contains(g.Consumers(name), cycle[(i+1)%len(cycle)]) {
				t.Fatalf("%v is not a cycle", cycle)
			}
		}
		level := map[string]int{}
		for i, wave := range waves {
			for _, name := range wave {
				if _, twice := level[name]; twice {
					t.Fatalf("%s is in two waves: %v", name, waves)
				}
				level[name] = i
			}
		}
		for _, e := range list {
			if len(cycle) == 0 && level[e.Producer] >= level[e.Consumer] {
				t.Fatalf("%v in %v", e, waves)
			}
		}
		// An edge closes a cycle if and only if the graph with it has one.
		e := Edge{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "from"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "to")}
		_, with := New(append(slices.Clone(list), e)).Waves()
		if closed := g.Cycle(e); len(cycle) == 0 && (len(closed) > 0) != (len(with) > 0) {
			t.Fatalf("%v: %v, %v", e, closed, with)
		}
	})
}
