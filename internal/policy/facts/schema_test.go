// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// resolved is the schema without references, closed: a field that it does not know is an error.
func resolved(t *testing.T) *validate.SchemaValidator {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(Schema, &root); err != nil {
		t.Fatal(err)
	}
	definitions := root["$defs"].(map[string]any)
	var resolve func(any) any
	resolve = func(part any) any {
		switch p := part.(type) {
		case map[string]any:
			if ref, ok := p["$ref"].(string); ok {
				return resolve(definitions[strings.TrimPrefix(ref, "#/$defs/")])
			}
			out := map[string]any{}
			for name, value := range p {
				if name == "const" { // of a later draft than the validator's
					out["enum"] = []any{value}
				} else if name != "$defs" && name != "$schema" && name != "$id" {
					out[name] = resolve(value)
				}
			}
			if _, ok := p["properties"]; ok && p["type"] == "object" {
				out["additionalProperties"] = false
			}
			return out
		case []any:
			out := make([]any, len(p))
			for i := range p {
				out[i] = resolve(p[i])
			}
			return out
		}
		return part
	}
	text, err := json.Marshal(resolve(root))
	if err != nil {
		t.Fatal(err)
	}
	var schema spec.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	return validate.NewSchemaValidator(&schema, nil, "", strfmt.Default)
}

// TestRealFactsHaveTheSchema validates the documents that TestDocument compares with those of real
// plans.
func TestRealFactsHaveTheSchema(t *testing.T) {
	validator := resolved(t)
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("found %d documents: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var document map[string]any
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		if result := validator.Validate(document); !result.IsValid() {
			t.Errorf("%s: %v", file, result.Errors)
		}
		for what, damage := range map[string]func(){
			"an unknown field":   func() { document["surprise"] = 1 },
			"another version":    func() { document["apiVersion"] = "policy.yuba.dev/v9" },
			"an unknown action":  func() { document["changes"].([]any)[0].(map[string]any)["action"] = "explode" },
			"a missing field":    func() { delete(document, "lockFile") },
			"a field as a text":  func() { document["counts"] = "many" },
			"a list as a object": func() { document["changes"] = map[string]any{} },
		} {
			if err := json.Unmarshal(text, &document); err != nil {
				t.Fatal(err)
			}
			delete(document, "surprise")
			if damage(); validator.Validate(document).IsValid() {
				t.Errorf("%s: a document with %s is valid", file, what)
			}
		}
	}
}

// TestFullFactsHaveTheSchema has each field of the document set.
func TestFullFactsHaveTheSchema(t *testing.T) {
	d := &Document{}
	full(t, d)
	d.APIVersion, d.Kind, d.Stage = APIVersion, Kind, StageDrift
	for _, list := range [][]Change{d.Changes, d.Drift} {
		list[0].Mode, list[0].Action = "managed", ActionUpdate
	}
	d.Outputs[0].Action, d.Contracts[0].Verdict, d.Configuration.Resources[0].Mode = ActionCreate, ContractBreaks, "data"
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if result := resolved(t).Validate(document); !result.IsValid() {
		t.Error(result.Errors)
	}
}
