// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

func TestExamples(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"size":{"type":"integer"}}}`:                                                                    `{"name":"example"}`,
		`{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":10,"exclusiveMinimum":true,"multipleOf":5}}}`:                                               `{"n":15}`,
		`{"type":"object","required":["p"],"properties":{"p":{"type":"string","pattern":"^sg-[0-9a-f]{8}$"}}}`:                                                                       `{"p":"sg-aaaaaaaa"}`,
		`{"type":"object","required":["c","z"],"properties":{"c":{"type":"string","format":"cidr"},"z":{"type":"array","minItems":2,"uniqueItems":true,"items":{"type":"string"}}}}`: `{"c":"10.0.0.0/16","z":["example","exampleb"]}`,
		`{"type":"object","properties":{"a":{"type":"string","example":"mine"},"b":{"type":"string","default":"x"}}}`:                                                                `{"a":"mine"}`,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["b"]},{"required":["a"]}]}`:                                               `{"b":"example"}`,
		`{"type":"object","required":["q"],"properties":{"q":{"x-kubernetes-int-or-string":true,"pattern":"^[0-9]+(Ki|Mi)$"}}}`:                                                      `{"q":"0Ki"}`,
		`{"type":"object","required":["e"],"properties":{"e":{"type":"string","minLength":12,"maxLength":12}}}`:                                                                      `{"e":"xxxxxxxxxxxx"}`,
	} {
		s := parsed(t, text)
		got, err := json.Marshal(s.Example())
		if err != nil {
			t.Fatal(err)
		}
		if bad := s.Validate(s.Default(s.Example())); string(got) != want || bad != nil {
			t.Errorf("%s\n got %s\nwant %s\n%s", text, got, want, bad)
		}
	}
}

// TestExamplesAreValid makes up examples of random schemas.
func TestExamplesAreValid(t *testing.T) {
	var random func(t *rapid.T, depth int) map[string]any
	random = func(t *rapid.T, depth int) map[string]any {
		kinds := []string{"string", "integer", "number", "boolean", "object", "map", "array", "quantity"}
		if depth == 0 {
			kinds = kinds[:4]
		}
		switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
		case "object":
			fields, required := map[string]any{}, []string{}
			for i := range rapid.IntRange(1, 3).Draw(t, "fields") {
				name := fmt.Sprintf("f%d", i)
				fields[name] = random(t, depth-1)
				if rapid.Bool().Draw(t, "required") {
					required = append(required, name)
				}
			}
			return map[string]any{"type": "object", "properties": fields, "required": required}
		case "map":
			return map[string]any{"type": "object", "additionalProperties": random(t, depth-1), "minProperties": rapid.IntRange(0, 1).Draw(t, "keys")}
		case "array":
			return map[string]any{"type": "array", "items": random(t, depth-1), "minItems": rapid.IntRange(0, 3).Draw(t, "elements")}
		case "quantity":
			return map[string]any{"x-kubernetes-int-or-string": true}
		case "string":
			s := map[string]any{"type": "string"}
			if pattern := rapid.SampledFrom([]string{"", "^[a-z]{3,5}$", "^(red|green)-[0-9]+$", `^\d+\.\d+$`, "^arn:aws:[a-z]+::[0-9]{12}:role/.+$"}).Draw(t, "pattern"); pattern != "" {
				s["pattern"] = pattern
			} else {
				s["minLength"] = rapid.IntRange(0, 40).Draw(t, "length")
			}
			return s
		case "integer", "number":
			least := rapid.IntRange(-50, 50).Draw(t, "least")
			return map[string]any{"type": kind, "minimum": least, "maximum": least + rapid.IntRange(0, 100).Draw(t, "range")}
		default:
			return map[string]any{"type": kind}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(map[string]any{"type": "object", "required": []string{"f"}, "properties": map[string]any{"f": random(t, 3)}})
		if err != nil {
			t.Fatal(err)
		}
		s, list := Parse(string(text))
		if s == nil {
			t.Fatalf("%s: %s", text, list)
		}
		example := s.Example()
		if bad := s.Validate(s.Default(example)); bad != nil {
			t.Fatalf("%s: %v: %s", text, example, bad)
		}
	})
}

const database = `{"title":"A database","type":"object","required":["size"],"properties":{
	"replicas":{"type":"integer","default":2,"minimum":1,"description":"Number of replicas. More are slower."},
	"size":{"x-kubernetes-int-or-string":true,"pattern":"^[0-9]+Gi$","description":"Size of the volume."},
	"version":{"type":"string","enum":["v17","v18"],"default":"v18","x-kubernetes-validations":[{"rule":"self == oldSelf"}]},
	"users":{"type":"object","description":"Users.","additionalProperties":{"type":"object","required":["role"],"properties":{"role":{"type":"string","description":"Role of the user."}}}},
	"labels":{"type":"object","additionalProperties":{"type":"string"},"default":{"a":"b"}}}}`

var keysOrder = [][]string{{"apiVersion"}, {"metadata", "name"}, {"spec", "size"}, {"spec", "users"}, {"spec", "replicas"}, {"spec", "gone"}}

func TestFieldsAreOrdered(t *testing.T) {
	var got []string
	for _, f := range parsed(t, database).Fields(keysOrder) {
		got = append(got, f.Path+": "+f.Type)
		for _, inner := range f.Fields {
			got = append(got, "  "+inner.Path+": "+inner.Type)
		}
	}
	want := []string{"size: integer or string", "users: map of object", "  users[*].role: string", "replicas: integer", "version: string", "labels: map of string"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestManifest(t *testing.T) {
	s := parsed(t, database)
	text := s.Manifest("apps.cozystack.io/v1alpha1", "Postgres", "example", keysOrder)
	golden(t, "manifest.yaml", text)
	var instance struct{ Spec map[string]any }
	if err := yaml.Unmarshal([]byte(text), &instance); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.Example(), instance.Spec); diff != "" {
		t.Error(diff)
	}
}

func TestPage(t *testing.T) {
	golden(t, "page.md", Page(PageInput{
		Schema: parsed(t, database), APIVersion: "apps.cozystack.io/v1alpha1", Kind: "Postgres", Plural: "postgreses",
		Description: "Managed PostgreSQL.", Order: keysOrder, Outputs: []string{"endpoint", "port"},
	}))
}

// TestHostileTextsStayText: what an author writes becomes neither markup nor lines of YAML.
func TestHostileTextsStayText(t *testing.T) {
	hostile := "x\n# Title\n| a | b |\n<script>alert(1)</script> [l](javascript:a) ![i](http://evil/x.png) http://evil `<b>` `a|b` `odd \u202eevil\u0000\u2028 &lt; ** __ ~~"
	text, err := json.Marshal(map[string]any{"type": "object", "title": hostile, "description": hostile, "required": []string{"a|b\n`c"}, "properties": map[string]any{
		"a|b\n`c": map[string]any{"type": "string", "description": hostile, "title": hostile, "default": hostile, "enum": []string{hostile}},
		"d":       map[string]any{"type": "object", "description": hostile, "example": map[string]any{hostile: hostile}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := parsed(t, string(text))
	page := Page(PageInput{Schema: s, APIVersion: "v1", Kind: "K", Plural: "ks", Title: hostile, Description: hostile})
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "    ") {
			continue // literal text
		}
		if strings.HasPrefix(line, "#") && strings.Contains(strings.TrimLeft(line, "# "), "# ") && !strings.Contains(line, `\#`) {
			t.Errorf("a heading: %s", line)
		}
		bare := outsideCode(line)
		for _, mark := range []string{"<", "[", "*", "~~", "__", "&lt"} {
			if i := strings.Index(bare, mark); i > 0 && bare[i-1] != '\\' {
				t.Errorf("%s is markup: %s", mark, line)
			}
		}
		if strings.HasPrefix(line, "| `a") || strings.HasPrefix(line, `| \`) {
			t.Log(line)
		}
		if strings.ContainsAny(line, "\x00\u202e\u2028") {
			t.Errorf("control characters: %q", line)
		}
	}
	manifest := s.Manifest("v1", "K", "example", nil)
	var instance struct{ Spec map[string]any }
	if err := yaml.Unmarshal([]byte(manifest), &instance); err != nil {
		t.Fatalf("%v\n%s", err, manifest)
	}
	if diff := cmp.Diff(s.Example(), instance.Spec); diff != "" {
		t.Error(diff)
	}
}

func outsideCode(line string) string {
	var b strings.Builder
	for i, part := range strings.Split(strings.ReplaceAll(line, "\\`", "''"), "`") {
		if i%2 == 0 {
			b.WriteString(part)
		}
	}
	return b.String()
}
