// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// described is a test's object.
type described struct {
	ID           string         `json:"id"`
	DependIds    []string       `json:"dependIds"`
	WaitForReady *bool          `json:"waitForReady"`
	Object       map[string]any `json:"object"`
}

// objectsOf reads a YAML list with id, dependIds, waitForReady and object. The namespace defaults
// to shops, the name to the id.
func objectsOf(t testing.TB, list string) []Node {
	t.Helper()
	var all []described
	if err := yaml.UnmarshalStrict([]byte(list), &all); err != nil {
		t.Fatalf("%v in\n%s", err, list)
	}
	var out []Node
	for _, d := range all {
		if d.Object == nil {
			d.Object = map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}
		}
		u := &unstructured.Unstructured{Object: d.Object}
		if u.GetName() == "" {
			u.SetName(d.ID)
		}
		if u.GetNamespace() == "" && u.GetKind() != "Namespace" {
			u.SetNamespace("shops")
		}
		out = append(out, Node{ID: d.ID, Object: u, Declared: d.DependIds, Gated: d.WaitForReady == nil || *d.WaitForReady})
	}
	return out
}

// edges are a graph's edges as text, in order.
func edges(g *Graph) []string {
	var out []string
	for _, id := range g.ids {
		for _, e := range g.Needs(id) {
			text := e.String()
			if e.Declared {
				text += " declared"
			}
			if e.Ready {
				text += " ready"
			}
			out = append(out, text)
		}
	}
	return out
}
