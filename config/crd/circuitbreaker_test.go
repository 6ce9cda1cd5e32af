// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const circuitBreakers = "yuba.dev_circuitbreakers.yaml"

func TestExplainHelpsOnOutages(t *testing.T) {
	d := load(t, circuitBreakers)
	walk("", *d.version.Schema.OpenAPIV3Schema, func(path string, props apiextensionsv1.JSONSchemaProps) {
		if path == ".metadata" || isKubernetes(path) {
			return
		}
		if len(strings.Fields(props.Description)) < 3 {
			t.Errorf("%s is described as %q", path, props.Description)
		}
	})
}

func TestWhatACircuitBreakerMayBe(t *testing.T) {
	d := load(t, circuitBreakers)
	for sentence, c := range map[string]struct {
		spec map[string]any
		ok   bool
	}{
		"the server's":             {map[string]any{"mode": "Automatic"}, true},
		"nothing is said":          {map[string]any{}, true},
		"open for a provider":      {map[string]any{"mode": "Open", "provider": "hashicorp/aws"}, true},
		"open for a namespace":     {map[string]any{"mode": "Open", "namespaces": []any{"blue"}}, true},
		"open for nobody knows":    {map[string]any{"mode": "Open"}, false},
		"closed":                   {map[string]any{"mode": "Closed", "provider": "hashicorp/aws"}, true},
		"a mode that there is not": {map[string]any{"mode": "Ajar"}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, errs := d.admit(t, map[string]any{"apiVersion": "yuba.dev/v1alpha1", "kind": "CircuitBreaker", "metadata": map[string]any{"name": "a"}, "spec": c.spec})
			if (len(errs) == 0) != c.ok {
				t.Errorf("errors %v", errs)
			}
		})
	}
	// One that the server has made knows by itself what it is about.
	_, errs := d.admit(t, map[string]any{"apiVersion": "yuba.dev/v1alpha1", "kind": "CircuitBreaker", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"mode": "Open"}, "status": map[string]any{"state": "Open", "provider": "hashicorp/aws"}})
	if len(errs) != 0 {
		t.Errorf("one that the server has made cannot be kept open: %v", errs)
	}
}
