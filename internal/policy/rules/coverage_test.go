// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"testing"

	"sigs.k8s.io/yaml"
)

func TestEveryRuleIsDescribed(t *testing.T) {
	for _, r := range All() {
		c := r.Coverage()
		if len(c.Catches) == 0 || len(c.Misses) == 0 {
			t.Errorf("%s does not say what it catches and what it misses", r.Name)
		}
		parameters, err := yaml.YAMLToJSON([]byte(r.Example))
		if err != nil {
			t.Fatalf("%s: the example is not YAML: %v", r.Name, err)
		}
		if _, err := Prepare(r.Name, parameters); err != nil && r.Example != "" {
			t.Errorf("the example does not work: %v", err)
		}
	}
	if len(coverage) != len(All()) {
		t.Errorf("%d rules are described, and there are %d", len(coverage), len(All()))
	}
}

func TestTheListOfNoIAMIsWhole(t *testing.T) {
	providers, manifests := IAMList()
	types, attributes := 0, 0
	for _, p := range providers {
		types += len(p.Types) + len(p.Harmless)
		attributes += len(p.Attributes)
	}
	if want := len(iamTypes) + len(iamHarmless); types != want || attributes == 0 || len(manifests) != len(manifestKinds) {
		t.Errorf("the list has %d types of %d, %d attributes and %d groups of manifests of %d", types, want, attributes, len(manifests), len(manifestKinds))
	}
}
