// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

// TestExamplesAreSound: the definitions of examples/applications have no mistakes and no warnings,
// and the instances there fit them. They run in test/e2e.
func TestExamplesAreSound(t *testing.T) {
	files, err := filepath.Glob("../../../examples/applications/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]*Definition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("kind: "+appv1.ApplicationDefinitionKind)) {
			continue
		}
		d := &appv1.ApplicationDefinition{}
		if err := yaml.UnmarshalStrict(text, d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		parsed, list := Parse(d)
		if parsed == nil || len(list) > 0 {
			t.Fatalf("%s: %s", file, list)
		}
		if example := parsed.Schema.Example(); parsed.Schema.Validate(parsed.Schema.Default(example)).Err() != nil {
			t.Errorf("%s: its example is not valid: %v", file, example)
		}
		kinds[parsed.Application.Kind] = parsed
	}
	if len(kinds) != 7 {
		t.Errorf("%d definitions", len(kinds))
	}
	text, err := os.ReadFile("../../../examples/applications/instances.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var instance struct {
			Kind string
			Spec map[string]any
		}
		if err := yaml.Unmarshal(document, &instance); err != nil {
			t.Fatal(err)
		}
		d := kinds[instance.Kind]
		if d == nil {
			t.Fatalf("no definition has the kind %s", instance.Kind)
		}
		if bad := d.Schema.Validate(d.Schema.Default(instance.Spec)); bad.Err() != nil {
			t.Errorf("%s: %s", instance.Kind, bad)
		}
	}
}
