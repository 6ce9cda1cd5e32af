// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package impact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/contracts/impact"
)

func names(list []impact.Reached) string {
	var all []string
	for _, r := range list {
		all = append(all, strings.TrimPrefix(r.Stack, "ns/"))
	}
	return strings.Join(all, " ")
}

// TestWalk plans level by level: what is behind a stack depends on its own plan, and nothing is taken twice.
func TestWalk(t *testing.T) {
	m := impact.Of([]infrav1.Terraform{stack("network", writes("net")), stack("cluster", varsFrom("net"), writes("cluster")), stack("dns", varsFrom("net", "zone"), writes("dns")),
		stack("app", varsFrom("cluster")), stack("failing", varsFrom("net"), writes("failing")), stack("behind", varsFrom("failing"), varsFrom("cluster")), stack("quiet", varsFrom("dns"))})
	w := &impact.Walk{Map: m, Of: []string{"ns/network"}, Plans: impact.Plans{"ns/network": change(t, "cidr", `1`, `2`)}}
	step, more := w.Next()
	if !more || names(step.Open) != "cluster failing" || names(step.Rests) != "dns" || len(step.Blocked) > 0 {
		t.Fatalf("the first level is %+v", step)
	}
	w.Plans["ns/cluster"] = change(t, "endpoint", `"a"`, `"b"`)
	step, more = w.Next()
	if !more || names(step.Open) != "app" || names(step.Blocked) != "behind" {
		t.Fatalf("the second level is %+v", step)
	}
	if got := w.Needs(step.Blocked[0]); !cmp.Equal(got, []string{"ns/failing"}) {
		t.Errorf("it needs %q", got)
	}
	if step, more = w.Next(); more {
		t.Errorf("there is more: %+v", step)
	}
}

// TestSeveralStacksChange: one of them that reads from another one is reached, too.
func TestSeveralStacksChange(t *testing.T) {
	m := impact.Of([]infrav1.Terraform{stack("network", writes("net")), stack("cluster", varsFrom("net", "cidr"), writes("cluster")), stack("app", varsFrom("cluster"), varsFrom("net", "id"))})
	of := []string{"ns/network", "ns/cluster"}
	for sentence, c := range map[string]struct {
		plans impact.Plans
		want  string
	}{
		"both change, and the first one what the second reads": {impact.Plans{of[0]: change(t, "cidr", `1`, `2`), of[1]: change(t, "endpoint", `1`, `2`)}, "cluster runs | app runs"},
		"the second one reads nothing that changes":            {impact.Plans{of[0]: change(t, "id", `1`, `2`), of[1]: impact.Change{}}, "app runs"},
		"nothing that others read changes":                     {impact.Plans{of[0]: impact.Change{}, of[1]: impact.Change{}}, "app rests"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := shown(m.ImpactOfAll(of, c.plans)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestInputs(t *testing.T) {
	network := stack("network", publishes("base", "1.0.0", "base"))
	const before = `{"vpc": "a", "secret": {"$sensitive": 1}, "subnets": [{"id": "s1"}, {"id": "s2"}]}`
	for sentence, c := range map[string]struct {
		reads       []string
		after, want string
	}{
		"the smallest part that differs": {nil, strings.Replace(before, `"a"`, `"b"`, 1), `base.vpc: "a" -> "b"`},
		"only what it reads":             {[]string{"subnets"}, `{"vpc": "b", "subnets": [{"id": "s1"}, {"id": "s3"}]}`, `base.subnets[1].id: "s2" -> "s3"`},
		"an element that is gone":        {nil, strings.Replace(before, `, {"id": "s2"}`, "", 1), `base.subnets[1]: {id = "s2"} -> null`},
		"a sensitive one has no value":   {[]string{"secret"}, strings.Replace(before, `"$sensitive": 1`, `"$sensitive": 2`, 1), `base.secret: (sensitive value) -> (sensitive value)`},
		"known after the apply":          {[]string{"vpc"}, strings.Replace(before, `"a"`, `{"$unknown": true}`, 1), `base.vpc: "a" -> (known after apply)`},
	} {
		t.Run(sentence, func(t *testing.T) {
			i := impact.Of([]infrav1.Terraform{network, stack("app", consumes("base", "", "network", c.reads...))}).Impact("ns/network", change(t, "base", before, c.after))
			var got []string
			for _, in := range i.Levels[0][0].Inputs {
				got = append(got, in.Path+": "+in.Before.Inline()+" -> "+in.After.Inline())
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestABrokenContractIsNoted(t *testing.T) {
	i := impact.Of([]infrav1.Terraform{stack("network", writes("net")), stack("app", varsFrom("net"))}).Impact("ns/network", nil)
	i.Break("ns/app", "it reads base.vpc, which is missing")
	i.Break("ns/app", "it reads base.vpc, which is missing")
	i.Break("ns/other", "nobody reads it")
	data, err := json.Marshal(i.Levels[0][0].Breaks)
	if err != nil || string(data) != `["it reads base.vpc, which is missing"]` {
		t.Errorf("%s, %v", data, err)
	}
}
