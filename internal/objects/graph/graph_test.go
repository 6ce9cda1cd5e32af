// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestOrder(t *testing.T) {
	for sentence, test := range map[string]struct {
		in          string
		order       []string
		edges, left []string
	}{
		"nothing":                                     {`[]`, nil, nil, nil},
		"without edges it is the template's":          {`[{id: b}, {id: a}]`, []string{"b", "a"}, nil, nil},
		"what another waits for comes first":          {`[{id: b, dependIds: [c]}, {id: a}, {id: c}]`, []string{"c", "b", "a"}, []string{"b -> c declared ready"}, nil},
		"a diamond":                                   {`[{id: a, dependIds: [b, c]}, {id: b, dependIds: [d]}, {id: c, dependIds: [d]}, {id: d}]`, []string{"d", "b", "c", "a"}, []string{"a -> b declared ready", "a -> c declared ready", "b -> d declared ready", "c -> d declared ready"}, nil},
		"one that is only to be there":                {`[{id: a, dependIds: [b]}, {id: b, waitForReady: false}]`, []string{"b", "a"}, []string{"a -> b declared"}, nil},
		"the same twice":                              {`[{id: a, dependIds: [b, b]}, {id: b}]`, []string{"b", "a"}, []string{"a -> b declared ready"}, nil},
		"a reference beside a declaration":            {`[{id: a, dependIds: [s], object: {apiVersion: v1, kind: ServiceAccount, secrets: [{name: s}]}}, {id: s, object: {apiVersion: v1, kind: Secret}}]`, []string{"s", "a"}, []string{"a -> s declared ready"}, nil},
		"a reference":                                 {`[{id: a, object: {apiVersion: v1, kind: ServiceAccount, secrets: [{name: s}]}}, {id: s, object: {apiVersion: v1, kind: Secret}}]`, []string{"s", "a"}, []string{"a -> s (Secret shops/s)"}, nil},
		"a reference that closes a declared cycle":    {`[{id: a, object: {apiVersion: v1, kind: ServiceAccount, secrets: [{name: s}]}}, {id: s, dependIds: [a], object: {apiVersion: v1, kind: Secret}}]`, []string{"a", "s"}, []string{"s -> a declared ready"}, []string{"a -> s (Secret shops/s)"}},
		"references that close a cycle of themselves": {`[{id: a, object: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {varsFrom: [{kind: Secret, name: b-out}, {kind: Secret, name: free}], writeOutputsToSecret: {name: a-out}}}}, {id: b, object: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {varsFrom: [{kind: Secret, name: a-out}], writeOutputsToSecret: {name: b-out}}}}, {id: free, object: {apiVersion: v1, kind: Secret}}]`, []string{"b", "free", "a"}, []string{"a -> b (Secret shops/b-out) ready", "a -> free (Secret shops/free)"}, []string{"b -> a (Secret shops/a-out) ready"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g, err := Of(objectsOf(t, test.in))
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, e := range g.LeftOut() {
				text := e.String()
				if e.Ready {
					text += " ready"
				}
				left = append(left, text)
			}
			if test.order == nil {
				test.order = []string{}
			}
			if diff := cmp.Diff(test.order, g.Order()) + cmp.Diff(test.edges, edges(g)) + cmp.Diff(test.left, left); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCyclesAreNamed(t *testing.T) {
	for in, want := range map[string][]string{
		`[{id: a, dependIds: [a]}]`: {"a", "a"},
		`[{id: x, dependIds: [b]}, {id: a, dependIds: [b]}, {id: b, dependIds: [c]}, {id: c, dependIds: [b]}]`: {"b", "c", "b"},
		`[{id: a, dependIds: [b]}, {id: b, dependIds: [c]}, {id: c, dependIds: [d, a]}, {id: d}]`:              {"a", "b", "c", "a"},
	} {
		_, err := Of(objectsOf(t, in))
		var cycle *CycleError
		if !errors.As(err, &cycle) {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if diff := cmp.Diff(want, cycle.IDs); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
		if !strings.HasPrefix(err.Error(), "dependIds form a cycle: "+strings.Join(want, " -> ")+"; ") {
			t.Error(err)
		}
	}
}

func TestIDs(t *testing.T) {
	if _, err := Of(objectsOf(t, `[{id: a}, {id: b}, {id: a}]`)); err == nil || err.Error() != "two objects have the id a; ids must be unique in a template" {
		t.Error(err)
	}
	g, err := Of(objectsOf(t, `[{id: a, dependIds: [gone, b, gone, lost]}, {id: b}, {id: c, dependIds: [b]}]`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"gone", "lost"}, g.Missing("a")) + cmp.Diff([]string(nil), g.Missing("b")); diff != "" {
		t.Error(diff)
	}
}

// random are n objects with random dependIds and references through outputs of stacks.
func random(t testing.TB, r *rand.Rand, cyclic bool) string {
	t.Helper()
	var list strings.Builder
	list.WriteString("[")
	n := r.IntN(12)
	for i := range n {
		var depends, reads []string
		for range r.IntN(3) {
			to := r.IntN(n + 1) // no object has n
			if cyclic || to < i || to == n {
				depends = append(depends, fmt.Sprintf("\"%d\"", to))
			}
		}
		for range r.IntN(4) {
			reads = append(reads, fmt.Sprintf("{kind: Secret, name: out-%d}", r.IntN(n+1)))
		}
		fmt.Fprintf(&list, `{id: "%d", dependIds: [%s], waitForReady: %v, object: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {varsFrom: [%s], writeOutputsToSecret: {name: out-%d}}}},`,
			i, strings.Join(depends, ", "), r.IntN(2) == 0, strings.Join(reads, ", "), i)
	}
	list.WriteString("]")
	return list.String()
}

// TestLaws checks the invariants of graphs on random templates.
func TestLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cycles := 0
	for round := range 3000 {
		in := random(t, r, round%4 == 0)
		objects := objectsOf(t, in)
		g, err := Of(objects)
		var cycle *CycleError
		if errors.As(err, &cycle) && round%4 == 0 {
			cycles++
			checkCycle(t, in, cycle.IDs)
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		place := map[string]int{}
		for i, id := range g.Order() {
			place[id] = i
		}
		if len(place) != len(objects) {
			t.Fatalf("%s: the order is %v", in, g.Order())
		}
		for _, o := range objects {
			for _, to := range o.Declared {
				declared := slices.ContainsFunc(g.Needs(o.ID), func(e Edge) bool { return e.To == to && e.Declared })
				if missing := slices.Contains(g.Missing(o.ID), to); declared == missing {
					t.Fatalf("%s: %s -> %s is declared; edge: %v, missing: %v", in, o.ID, to, declared, missing)
				}
			}
			for _, e := range g.Needs(o.ID) {
				if place[e.To] >= place[o.ID] {
					t.Fatalf("%s: %s before %s, which it waits for: %v", in, o.ID, e.To, g.Order())
				}
			}
		}
		for _, e := range inferred(objects) {
			kept := g.joined[[2]string{e.From, e.To}]
			if left := slices.ContainsFunc(g.LeftOut(), func(l Edge) bool { return l.From == e.From && l.To == e.To }); kept == left {
				t.Fatalf("%s: %v kept: %v, left out: %v", in, e, kept, left)
			}
			looks := maxLooks
			if !kept && !g.reaches(e.To, e.From, &looks) {
				t.Fatalf("%s: %v is left out and would close no cycle", in, e)
			}
		}
		again, err := Of(objects)
		if err != nil || cmp.Diff(g.Order(), again.Order())+cmp.Diff(edges(g), edges(again)) != "" {
			t.Fatalf("%s: another result the second time, %v", in, err)
		}
	}
	if cycles == 0 {
		t.Error("no round had a declared cycle")
	}
}

// checkCycle checks that a cycle was declared.
func checkCycle(t *testing.T, in string, ids []string) {
	t.Helper()
	if len(ids) < 2 || ids[0] != ids[len(ids)-1] {
		t.Fatalf("%s: %v is not a cycle", in, ids)
	}
	declared := map[string][]string{}
	for _, o := range objectsOf(t, in) {
		declared[o.ID] = o.Declared
	}
	for i, id := range ids[:len(ids)-1] {
		if !slices.Contains(declared[id], ids[i+1]) {
			t.Fatalf("%s: %s does not depend on %s", in, id, ids[i+1])
		}
	}
}

// TestLongChains: only the API limits the depth and number of objects.
func TestLongChains(t *testing.T) {
	const n = 5000
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "- {id: o%d, dependIds: [o%d]}\n", i, i+1)
	}
	fmt.Fprintf(&list, "- {id: o%d}\n", n)
	objects := objectsOf(t, list.String())
	g, err := Of(objects)
	if err != nil {
		t.Fatal(err)
	}
	if order := g.Order(); len(order) != n+1 || order[0] != fmt.Sprintf("o%d", n) || order[n] != "o0" {
		t.Errorf("the order begins with %v", order[:3])
	}
	objects[n].Declared = []string{"o0"}
	var cycle *CycleError
	if _, err := Of(objects); !errors.As(err, &cycle) || len(cycle.IDs) != n+2 {
		t.Errorf("%v", err)
	}
}

// TestHostileReferencesEnd: the search for cycles ends even if each stack reads the outputs of all
// others.
func TestHostileReferencesEnd(t *testing.T) {
	const n = 150
	var reads, list strings.Builder
	for i := range n {
		fmt.Fprintf(&reads, "{name: out-%d, as: x},", i)
	}
	for i := range n {
		fmt.Fprintf(&list, "- {id: s%d, object: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {readInputsFromSecrets: [%s], writeOutputsToSecret: {name: out-%d}}}}\n", i, reads.String(), i)
	}
	g, err := Of(objectsOf(t, list.String()))
	if err != nil {
		t.Fatal(err)
	}
	if kept := len(edges(g)); kept+len(g.LeftOut()) != n*(n-1) || len(g.Order()) != n || kept < n-1 {
		t.Errorf("%d edges, %d left out", kept, len(g.LeftOut()))
	}
}

// TestManyWritersOfOneSecret: a template can have thousands, and their square would be too many.
func TestManyWritersOfOneSecret(t *testing.T) {
	var objects []Node
	add := func(id string, spec map[string]any) {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "infra.contrib.fluxcd.io/v1alpha2", "kind": "Terraform",
			"metadata": map[string]any{"name": id, "namespace": "shops"}, "spec": spec}}
		objects = append(objects, Node{ID: id, Object: u, Gated: true})
	}
	for i := range 4000 {
		add(fmt.Sprint("writer", i), map[string]any{"writeOutputsToSecret": map[string]any{"name": "out"}})
		add(fmt.Sprint("reader", i), map[string]any{"varsFrom": []any{map[string]any{"kind": "Secret", "name": "out"}}})
	}
	for i := range 100_000 {
		objects[0].Declared = append(objects[0].Declared, fmt.Sprint("nobody", i))
	}
	g, err := Of(objects)
	if err != nil {
		t.Fatal(err)
	}
	if needs := len(g.Needs("reader7")); needs == 0 || needs > maxProviders {
		t.Errorf("a reader waits for %d of them", needs)
	}
	if len(g.Missing("writer0")) != 100_000 || len(g.Order()) != len(objects) {
		t.Errorf("%d ids are missing, %d are in order", len(g.Missing("writer0")), len(g.Order()))
	}
}
