// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestReferencesOfObjects(t *testing.T) {
	for sentence, c := range map[string]struct {
		spec                string
		secrets, configMaps []string
	}{
		"a stack's variables":        {"varsFrom: [{kind: Secret, name: a}, {kind: ConfigMap, name: b}]", []string{"a"}, []string{"b"}},
		"its environment":            {"env: [{name: X, valueFrom: {secretKeyRef: {name: a, key: k}}}]\nenvFrom: [{configMapRef: {name: b}}, {secretRef: {name: c}}]", []string{"a", "c"}, []string{"b"}},
		"its files":                  {"fileMappings: [{secretRef: {name: a, key: k}, location: home, path: p}]", []string{"a"}, nil},
		"its Pods' volumes":          {"runnerPodTemplate: {spec: {volumes: [{name: v, secret: {secretName: a}}, {name: w, configMap: {name: b}}]}}", []string{"a"}, []string{"b"}},
		"a source's credentials":     {"secretRef: {name: a}\ncertSecretRef: {name: b}\nurl: https://x", []string{"a", "b"}, nil},
		"what it writes is no input": {"writeOutputsToSecret: {name: a}", nil, nil},
		"other names are none":       {"sourceRef: {kind: GitRepository, name: a}\ndependsOn: [{name: b}]", nil, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			var spec map[string]any
			if err := yaml.Unmarshal([]byte(c.spec), &spec); err != nil {
				t.Fatal(err)
			}
			got := referencesOf(map[string]any{"spec": spec})
			if diff := cmp.Diff(c.secrets, got.secretNames()); diff != "" {
				t.Errorf("Secrets (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.configMaps, got.configMapNames()); diff != "" {
				t.Errorf("ConfigMaps (-want +got):\n%s", diff)
			}
		})
	}
}

// The identity of a state is read from its first bytes, however large it is.
func TestStatesAreIdentifiedByTheirBeginning(t *testing.T) {
	for sentence, c := range map[string]struct {
		head      string
		serial    uint64
		lineage   string
		encrypted bool
	}{
		"a small state":     {`{"version":4,"terraform_version":"1.12.0","serial":3,"lineage":"l","outputs":{},"resources":[]}`, 3, "l", false},
		"a large one":       {`{"version":4,"serial":3,"lineage":"l","outputs":{"a":{"value":"` + strings.Repeat("x", maxBeginning), 3, "l", false},
		"an encrypted one":  {`{"serial":7,"lineage":"l","meta":{},"encrypted_data":"` + strings.Repeat("x", maxBeginning), 7, "l", true},
		"something else":    {"hello", 0, "", false},
		"nothing":           {"", 0, "", false},
		"a negative serial": {`{"serial":-1,"lineage":"l","x":"` + strings.Repeat("x", maxBeginning), 0, "l", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := &beginning{Reader: strings.NewReader(c.head)}
			for buffer := make([]byte, 100); ; {
				if _, err := b.Read(buffer); err != nil {
					break
				}
			}
			serial, lineage, encrypted := b.identify()
			if serial != c.serial || lineage != c.lineage || encrypted != c.encrypted {
				t.Errorf("serial %d, lineage %q, encrypted %v", serial, lineage, encrypted)
			}
		})
	}
}
