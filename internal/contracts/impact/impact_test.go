// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package impact_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/contracts/impact"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

func stack(name string, with ...func(*infrav1.Terraform)) infrav1.Terraform {
	t := infrav1.Terraform{}
	t.Namespace, t.Name = "ns", name
	for _, w := range with {
		w(&t)
	}
	return t
}

func publishes(contract, version, output string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Spec.Publishes = append(t.Spec.Publishes, infrav1.Publication{Contract: contract, Version: version, Value: output})
	}
}

func consumes(contract, within, from string, reads ...string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Spec.Consumes = append(t.Spec.Consumes, infrav1.Consumption{Contract: contract, Version: within,
			From: infrav1.ProducerReference{Name: from}, As: contract, Reads: reads})
	}
}

func writes(secret string, outputs ...string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: secret, Outputs: outputs}
	}
}

func varsFrom(secret string, keys ...string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Spec.VarsFrom = append(t.Spec.VarsFrom, infrav1.VarsReference{Kind: "Secret", Name: secret, VarsKeys: keys})
	}
}

func dependsOn(name string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Spec.DependsOn = append(t.Spec.DependsOn, fluxmeta.NamespacedObjectReference{Name: name})
	}
}

func value(t *testing.T, text string) (v plan.Value) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func change(t *testing.T, name, before, after string) impact.Change {
	t.Helper()
	return impact.Change{name: {Name: name, Before: value(t, before), After: value(t, after)}}
}

// shown writes an impact as "level: stack effect, …".
func shown(i impact.Impact) string {
	var levels []string
	for _, level := range i.Levels {
		var names []string
		for _, r := range level {
			names = append(names, strings.TrimPrefix(r.Stack, "ns/")+" "+string(r.Effect))
		}
		levels = append(levels, strings.Join(names, ", "))
	}
	return strings.Join(levels, " | ")
}

func TestImpact(t *testing.T) {
	const before = `{"vpc": "a", "subnets": [{"id": "s1", "cidr": "1"}, {"id": "s2", "cidr": "2"}]}`
	network := stack("network", publishes("base", "1.2.0", "base"), writes("net"))
	for name, c := range map[string]struct {
		stacks []infrav1.Terraform
		change impact.Change
		want   string
	}{
		"without a plan, everything may run": {
			[]infrav1.Terraform{network, stack("app", consumes("base", "~> 1.0", "network"))}, nil, "app mayRun"},
		"the part that changes": {
			[]infrav1.Terraform{network, stack("a", consumes("base", "~> 1.0", "network", "vpc")), stack("b", consumes("base", "~> 1.0", "network", "subnets[*].id"))},
			change(t, "base", before, strings.Replace(before, `"a"`, `"b"`, 1)), "a runs, b rests"},
		"another element": {
			[]infrav1.Terraform{network, stack("all", consumes("base", "", "network", "subnets[*].id")), stack("first", consumes("base", "", "network", "subnets[0].id"))},
			change(t, "base", before, strings.Replace(before, `}]`, `}, {"id": "s3", "cidr": "3"}]`, 1)), "all runs, first rests"},
		"known after the apply": {
			[]infrav1.Terraform{network, stack("a", consumes("base", "", "network", "vpc")), stack("b", consumes("base", "", "network", "subnets"))},
			change(t, "base", before, strings.Replace(before, `"a"`, `{"$unknown": true}`, 1)), "a mayRun, b rests"},
		"a sensitive value that stays, and one that changes": {
			[]infrav1.Terraform{network, stack("a", consumes("base", "", "network", "x")), stack("b", consumes("base", "", "network", "y"))},
			change(t, "base", `{"x": {"$sensitive": 1}, "y": {"$sensitive": 2}}`, `{"x": {"$sensitive": 1}, "y": {"$sensitive": 3}}`), "a rests, b runs"},
		"another output": {
			[]infrav1.Terraform{network, stack("a", consumes("base", "", "network"))}, change(t, "other", `1`, `2`), "a rests"},
		"a version that is not published": {
			[]infrav1.Terraform{network, stack("a", consumes("base", "~> 2.0", "network"))}, change(t, "base", before, `null`), "a rests"},
		"the highest version in range": {
			[]infrav1.Terraform{stack("network", publishes("base", "1.2.0", "old"), publishes("base", "1.10.0", "new")), stack("a", consumes("base", "~> 1.0", "network"))},
			change(t, "old", `1`, `2`), "a rests"},
		"in levels; behind a stack that rests is nothing": {
			[]infrav1.Terraform{network, stack("cluster", consumes("base", "", "network", "vpc"), publishes("cluster", "1.0.0", "cluster")),
				stack("app", consumes("cluster", "", "cluster"), consumes("base", "", "network", "vpc")), stack("still", consumes("base", "", "network", "gone"), writes("s")), stack("behind", varsFrom("s"))},
			change(t, "base", before, strings.Replace(before, `"a"`, `"b"`, 1)), "cluster runs, still rests | app runs"},
		"a Secret with outputs": {
			[]infrav1.Terraform{network, stack("a", varsFrom("net")), stack("b", varsFrom("net", "other")), stack("type", varsFrom("net", "base__type"))},
			change(t, "base", `"a"`, `"b"`), "a runs, b rests, type runs"},
		"under another key": {
			[]infrav1.Terraform{stack("network", writes("net", "base:renamed", "other")), stack("a", varsFrom("net", "renamed")), stack("b", varsFrom("net", "base")), stack("c", varsFrom("net", "renamed:mine"))},
			change(t, "base", `"a"`, `"b"`), "a runs, b rests, c runs"},
		"an order starts nothing": {
			[]infrav1.Terraform{network, stack("a", dependsOn("network"))}, nil, ""},
		"itself": {
			[]infrav1.Terraform{stack("network", writes("net"), varsFrom("net"))}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shown(impact.Of(c.stacks).Impact("ns/network", c.change)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What is behind a planned stack is compared with what its own plan changes.
func TestImpactOfPlans(t *testing.T) {
	network := stack("network", writes("net"))
	cluster := stack("cluster", varsFrom("net", "cidr"), writes("cluster"))
	app, edge := stack("app", varsFrom("cluster", "endpoint")), stack("edge", varsFrom("cluster", "name"), varsFrom("net", "id"))
	m := impact.Of([]infrav1.Terraform{network, cluster, app, edge})
	root := change(t, "cidr", `"a"`, `"b"`)
	for sentence, c := range map[string]struct {
		plans impact.Plans
		want  string
	}{
		"nobody else is planned": {impact.Plans{"ns/network": root}, "cluster runs | app mayRun, edge mayRun"},
		"a plan that changes what one of them reads": {impact.Plans{"ns/network": root, "ns/cluster": change(t, "endpoint", `1`, `2`)},
			"cluster runs | app runs, edge rests"},
		"a plan that changes no output": {impact.Plans{"ns/network": root, "ns/cluster": impact.Change{}}, "cluster runs | app rests, edge rests"},
		"an output that is not known yet": {impact.Plans{"ns/network": root, "ns/cluster": change(t, "name", `1`, `{"$unknown": true}`)},
			"cluster runs | app rests, edge mayRun"},
		"a plan of a stack that is not reached changes nothing": {impact.Plans{"ns/network": impact.Change{}, "ns/cluster": change(t, "endpoint", `1`, `2`)},
			"cluster rests | edge rests"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := shown(m.ImpactOf("ns/network", c.plans)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestACycleIsNamed(t *testing.T) {
	m := impact.Of([]infrav1.Terraform{stack("a", writes("a"), varsFrom("c")), stack("b", writes("b"), varsFrom("a")), stack("c", writes("c"), varsFrom("b"))})
	i := m.Impact("ns/a", nil)
	if got, want := strings.Join(i.Cycle, " "), "ns/a ns/b ns/c"; got != want {
		t.Errorf("the cycle is %q, want %q", got, want)
	}
	if got, want := shown(i), "b mayRun, c mayRun"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLaws checks the invariants on random fleets.
func TestLaws(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var stacks []infrav1.Terraform
		for i := range 2 + r.IntN(12) {
			name := fmt.Sprintf("s%02d", i)
			s := stack(name, publishes("c"+name, "1.0.0", "value"), writes(name))
			for j := range i {
				from := fmt.Sprintf("s%02d", j)
				switch r.IntN(8) {
				case 0:
					consumes("c"+from, "", from)(&s)
				case 1:
					consumes("c"+from, "", from, "a")(&s)
				case 2:
					varsFrom(from)(&s)
				case 3:
					dependsOn(from)(&s)
				}
			}
			stacks = append(stacks, s)
		}
		c := change(t, "value", `{"a": 1, "b": 1}`, [3]string{`{"a": 1, "b": 2}`, `{"a": 2, "b": 1}`, `{"a": {"$unknown": true}, "b": 1}`}[r.IntN(3)])
		m := impact.Of(stacks)
		got := m.Impact("ns/s00", c)
		checkLevels(t, m, got, seed)
		r.Shuffle(len(stacks), func(i, j int) { stacks[i], stacks[j] = stacks[j], stacks[i] })
		if again := impact.Of(stacks).Impact("ns/s00", c); !reflect.DeepEqual(got, again) {
			t.Fatalf("seed %d: another order of stacks gives %v, want %v", seed, again, got)
		}
	}
}

// checkLevels checks that each stack is behind those that it reads from, and is there if it must run.
func checkLevels(t *testing.T, m *impact.Map, i impact.Impact, seed uint64) {
	t.Helper()
	level, effect := map[string]int{"ns/s00": -1}, map[string]impact.Effect{"ns/s00": impact.Runs}
	for n, list := range i.Levels {
		for _, r := range list {
			if _, twice := level[r.Stack]; twice {
				t.Fatalf("seed %d: %s is there twice", seed, r.Stack)
			}
			level[r.Stack], effect[r.Stack] = n, r.Effect
		}
	}
	for _, e := range m.Edges {
		if e.Kind == impact.ByOrder {
			continue
		}
		producer, reached := level[e.Producer]
		consumer, found := level[e.Consumer]
		switch {
		case !reached || effect[e.Producer] == impact.Rests:
		case !found:
			t.Fatalf("seed %d: %s reads from %s, which runs, and is not reached", seed, e.Consumer, e.Producer)
		case consumer <= producer:
			t.Fatalf("seed %d: %s is in level %d, and %s, from which it reads, in %d", seed, e.Consumer, consumer, e.Producer, producer)
		case e.Producer != "ns/s00" && effect[e.Consumer] == impact.Rests:
			t.Fatalf("seed %d: %s rests, and %s, from which it reads, may run", seed, e.Consumer, e.Producer)
		}
	}
}
