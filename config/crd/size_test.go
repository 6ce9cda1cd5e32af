// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"encoding/json"
	"io/fs"
	"testing"

	"sigs.k8s.io/yaml"
)

// "kubectl apply" keeps what it applied in an annotation, and objects may have 256 KiB of those.
func TestDefinitionsCanBeAppliedByKubectl(t *testing.T) {
	const most = 256<<10 - 4<<10
	names, err := fs.Glob(All, "*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(All, name)
		if err != nil {
			t.Fatal(err)
		}
		var object any
		if err := yaml.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		compact, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if len(compact) > most {
			t.Errorf("%s is %d bytes of JSON, %d too many for kubectl apply", name, len(compact), len(compact)-most)
		}
	}
}
