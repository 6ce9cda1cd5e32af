// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestSkewCountsThoseOfAKindThatAreNotReadyAtATime(t *testing.T) {
	type event struct {
		kind, name string
		unready    bool
	}
	for name, c := range map[string]struct {
		events              []event
		most, unready, seen int
	}{
		"nobody":                        {nil, 0, 0, 0},
		"ready ones do not count":       {[]event{{"tenant", "a", false}, {"tenant", "b", false}}, 0, 0, 2},
		"one after the other is one":    {[]event{{"tenant", "a", true}, {"tenant", "a", false}, {"tenant", "b", true}, {"tenant", "b", false}}, 1, 0, 2},
		"two at a time are two":         {[]event{{"tenant", "a", true}, {"tenant", "b", true}, {"tenant", "a", false}}, 2, 1, 2},
		"one that is seen twice is one": {[]event{{"tenant", "a", true}, {"tenant", "a", true}}, 1, 1, 1},
		"kinds are not added up":        {[]event{{"tenant", "a", true}, {"gadget", "a", true}, {"gadget", "b", false}}, 1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var s skew
			for _, e := range c.events {
				s.see(e.kind, e.name, e.unready)
			}
			if s.most != c.most || s.unready("tenant") != c.unready || s.seen["tenant"] != c.seen {
				t.Errorf("most %d, now %d of %d tenants; want %d, %d of %d", s.most, s.unready("tenant"), s.seen["tenant"], c.most, c.unready, c.seen)
			}
		})
	}
}

func TestRequestsAreCountedWithoutWatches(t *testing.T) {
	const text = metricsText + `apiserver_request_total{code="200",group="",resource="secrets",scope="namespace",subresource="",verb="WATCH",version="v1"} 12
apiserver_request_total{code="200",group="",resource="secrets",scope="cluster",subresource="",verb="LIST",version="v1"} 4
`
	for name, c := range map[string]struct {
		resources []string
		want      int
	}{
		"reading and writing of one kind": {[]string{"secrets"}, 1004},
		"of several":                      {[]string{"secrets", "terraforms"}, 1111},
		"of none":                         {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseRequests([]byte(text), c.resources...)
			if err != nil || got != c.want {
				t.Errorf("%d, %v; want %d", got, err, c.want)
			}
		})
	}
}

func TestAConditionCountsOnlyWhenItSpeaksOfTheObjectAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		metadata, status string
		want             bool
	}{
		"no status":               {`{generation: 1}`, ``, false},
		"ready":                   {`{generation: 2}`, `{observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}`, true},
		"not ready":               {`{generation: 2}`, `{observedGeneration: 2, conditions: [{type: Ready, status: "False"}]}`, false},
		"ready before the change": {`{generation: 3}`, `{observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}`, false},
		"another condition":       {`{generation: 1}`, `{observedGeneration: 1, conditions: [{type: Other, status: "True"}]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := yaml.YAMLToJSON([]byte("apiVersion: bench.yuba.dev/v1\nkind: Gadget\nmetadata: " + c.metadata + "\nstatus: " + c.status + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			o := &unstructured.Unstructured{}
			if err := o.UnmarshalJSON(text); err != nil {
				t.Fatal(err)
			}
			if got := conditionIs(o, "Ready", "True"); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
}

func TestManifestsOfTenantsAreWellFormed(t *testing.T) {
	for name, text := range map[string]string{"registry": fmt.Sprintf(tenantRegistry, "/tables/x.db"), "template": tenantTemplate,
		"gadgets": gadgetDefinition, "rollout": fmt.Sprintf(rolloutTemplate, maxSkew), "gadget": gadget("x")} {
		t.Run(name, func(t *testing.T) {
			var o map[string]any
			if err := yaml.UnmarshalStrict([]byte(text), &o); err != nil {
				t.Fatal(err)
			}
		})
	}
	if got := objectsOfTenant(); got != 5 {
		t.Errorf("each tenant has %d objects, and the targets are for 5", got)
	}
}
