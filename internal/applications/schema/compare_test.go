// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/applications/finding"
)

func parsed(t *testing.T, text string) *Schema {
	t.Helper()
	s, list := Parse(text)
	if s == nil {
		t.Fatalf("%s: %s", text, list)
	}
	return s
}

// comparisons are two schemas of a field f. An exclamation mark means that the change is breaking.
var comparisons = map[string]struct{ older, newer, want string }{
	"nothing":                    {`{"type":"string","description":"a"}`, `{"type":"string","description":"b"}`, ``},
	"another type":               {`{"type":"string"}`, `{"type":"integer"}`, `!f: the type changes from string to integer`},
	"a wider type":               {`{"type":"integer"}`, `{"type":"number"}`, `f: the type changes from integer to number`},
	"anything":                   {`{"type":"object","properties":{"a":{"type":"string"}}}`, `{}`, `f: the type changes from object to anything`},
	"a field goes":               {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, `!f.b: the field is removed: its values are dropped`},
	"a field comes":              {`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"type":"object","required":["b"],"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, "f.b: the field is new\n!f.b: the field is required now"},
	"a field with default comes": {`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"type":"object","required":["b"],"properties":{"a":{"type":"string"},"b":{"type":"string","default":"x"}}}`, "f.b: the field is new\nf.b: the field is required now"},
	"required no more":           {`{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, `f.a: the field is optional now`},
	"a default":                  {`{"type":"integer","default":1}`, `{"type":"integer","default":2}`, `f: the default changes from 1 to 2 for new instances`},
	"values":                     {`{"type":"string","enum":["a","b"]}`, `{"type":"string","enum":["b","c"]}`, "!f: these values are not allowed any more: \"a\"\nf: these values are allowed, too: \"c\""},
	"bounds":                     {`{"type":"integer","minimum":1,"maximum":9}`, `{"type":"integer","minimum":0,"maximum":8}`, "f: the minimum changes from 1 to 0\n!f: the maximum changes from 9 to 8"},
	"a new bound":                {`{"type":"array","items":{"type":"string","maxLength":5}}`, `{"type":"array","minItems":1,"items":{"type":"string"}}`, "!f: the minimum number of elements is 1 now\nf[*]: the maximum length is no longer limited"},
	"a pattern":                  {`{"type":"string"}`, `{"type":"string","pattern":"^a"}`, `!f: the pattern is ^a now`},
	"open no more":               {`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, "!f: fields that are not described are dropped now\n!f.b: the field is new"},
	"elements of a map":          {`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"integer"}}`, `!f[*]: the type changes from string to integer`},
}

func TestCompare(t *testing.T) {
	for name, c := range comparisons {
		t.Run(name, func(t *testing.T) {
			wrap := func(field string) *Schema { return parsed(t, `{"type":"object","properties":{"f":`+field+`}}`) }
			var got []string
			for _, change := range Compare(wrap(c.older), wrap(c.newer)) {
				mark := ""
				if change.Breaking {
					mark = "!"
				}
				got = append(got, mark+change.String())
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStrands(t *testing.T) {
	s := parsed(t, `{"type":"object","required":["size"],"properties":{"size":{"type":"integer","maximum":5},"n":{"type":"object","default":{},"properties":{"a":{"type":"string","default":"x"}}}}}`)
	got := s.Strands([]Instance{
		{Namespace: "a", Name: "fits", Spec: map[string]any{"size": int64(5)}},
		{Namespace: "a", Name: "large", Spec: map[string]any{"size": int64(6)}},
		{Namespace: "b", Name: "other", Spec: map[string]any{"size": int64(1), "old": "s3cr3t", "n": map[string]any{"b": int64(1)}}},
		{Namespace: "b", Name: "bare"},
	})
	want := []Stranded{
		{Namespace: "a", Name: "large", Findings: finding.List{{Severity: finding.Error, Field: "spec.size", Problem: "should be less than or equal to 5"}}},
		{Namespace: "b", Name: "other", Findings: finding.List{
			{Severity: finding.Error, Field: "spec.n.b", Problem: "the schema does not have the field, so its value would be dropped", Advice: "keep the field in the schema, or remove it from the instance"},
			{Severity: finding.Error, Field: "spec.old", Problem: "the schema does not have the field, so its value would be dropped", Advice: "keep the field in the schema, or remove it from the instance"},
		}},
		{Namespace: "b", Name: "bare", Findings: finding.List{{Severity: finding.Error, Field: "spec.size", Problem: "a value is required"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValidateNamesFieldsAndNoValues(t *testing.T) {
	s := parsed(t, `{"type":"object","required":["name"],"properties":{"name":{"type":"string","pattern":"^[a-z]+$"},"tier":{"type":"string","enum":["a","b"]},
		"l":{"type":"array","uniqueItems":true,"items":{"type":"string"}},"m":{"type":"object","additionalProperties":{"type":"integer"}},
		"c":{"type":"string","x-kubernetes-validations":[{"rule":"self.startsWith('x')","message":"it begins with x"}]}}}`)
	for text, want := range map[string]string{
		`{"name":"ok","c":"xy"}`:                ``,
		`{"name":"ok","c":"s3cr3t"}`:            `spec.c: it begins with x`,
		`{"name":"S3CR3T"}`:                     `spec.name: should match '^[a-z]+$'`,
		`{"name":7}`:                            `spec.name: must be of type string, not integer`,
		`{"name":"ok","tier":"s3cr3t"}`:         `spec.tier: the value is not one of the allowed ones: "a", "b"`,
		`{"name":"ok","m":{"k":"s3cr3t"}}`:      `spec.m.k: must be of type integer, not string`,
		`{"name":"ok","l":["s3cr3t","s3cr3t"]}`: `spec.l[1]: duplicate value`,
		`{}`:                                    `spec.name: a value is required`,
	} {
		value, err := plainJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Validate(value.(map[string]any)).String(); got != want || strings.Contains(strings.ToLower(got), "s3cr3t") {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestDefault(t *testing.T) {
	s := parsed(t, `{"type":"object","properties":{"n":{"type":"integer","default":2},"o":{"type":"object","default":{},"properties":{"a":{"type":"string","default":"x"}}},"s":{"type":"string"}}}`)
	spec := map[string]any{"s": nil, "o": map[string]any{}, "unknown": true}
	got := s.Default(spec)
	if diff := cmp.Diff(map[string]any{"n": int64(2), "o": map[string]any{"a": "x"}}, got); diff != "" {
		t.Error(diff)
	}
	if len(spec) != 3 || !s.Optional {
		t.Errorf("%v, optional %v", spec, s.Optional)
	}
	if parsed(t, `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`).Optional {
		t.Error("a spec with a required field is not optional")
	}
}
