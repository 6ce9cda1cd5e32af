// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

func fromKey(t *testing.T, key, text string) Source {
	t.Helper()
	secrets := things{configMaps: map[string]map[string]string{"tenants": {key: text}}}
	return mustOpen(t, tenantv1.DataSource{Type: tenantv1.SourceConfigMap, ConfigMap: &tenantv1.ConfigMapSource{Name: "tenants", Key: key}}, secrets, Options{})
}

func TestRowsOfAConfigMap(t *testing.T) {
	yaml := `
# Tenants
- {id: acme, active: yes, n: 007, plan: null, tags: [a, {b: 1}]}
- &shared
  id: "1.10"
  active: on
  plan: |
    two
    lines
  tags: ~
- <<: *shared
  id: ü
  plan: pro
`
	wantYAML := []map[string]string{
		{"id": "acme", "active": "yes", "n": "007", "plan": null, "tags": `["a",{"b":1}]`},
		{"id": "1.10", "active": "on", "n": null, "plan": "two\nlines\n", "tags": null},
		{"id": "ü", "active": "on", "n": null, "plan": "pro", "tags": null},
	}
	json := ` [{"id": "a", "active": true, "n": 1.0, "plan": null, "tags": []}]`
	wantJSON := []map[string]string{{"id": "a", "active": "true", "n": "1.0", "plan": null, "tags": "[]"}}
	csv := "\ufeffid, active,n,plan,tags\r\na,1,,\"with, comma and \"\"quotes\"\"\",x\r\n"
	wantCSV := []map[string]string{{"id": "a", "active": "1", "n": "", "plan": `with, comma and "quotes"`, "tags": "x"}}
	for sentence, test := range map[string]struct {
		key, text string
		want      []map[string]string
	}{
		"YAML": {"tenants.yaml", yaml, wantYAML}, "YAML by a short ending": {"tenants.YML", yaml, wantYAML},
		"YAML by its begin": {"tenants", yaml, wantYAML},
		"JSON":              {"tenants.json", json, wantJSON}, "JSON by its begin": {"tenants", json, wantJSON},
		"JSON is YAML": {"tenants.yaml", json, wantJSON},
		"CSV":          {"tenants.csv", csv, wantCSV}, "CSV by its begin": {"tenants", csv, wantCSV},
		"no rows in YAML": {"tenants.yaml", "[]", []map[string]string{}}, "no rows in JSON": {"tenants.json", "[]", []map[string]string{}},
		"no rows in CSV": {"tenants.csv", "id,active,n,plan,tags", []map[string]string{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := mustRead(t, fromKey(t, test.key, test.text), Query{Columns: []string{"id", "active", "n", "plan", "tags"}})
			if diff := cmp.Diff(test.want, plain(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsNoListInAConfigMap(t *testing.T) {
	merges := "- &a {id: x}\n- &b {<<: [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]}\n- {<<: [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]}"
	for sentence, test := range map[string]struct {
		key, text string
		class     Class
		want      string
	}{
		"nothing":                      {"t.yaml", "", Invalid, "not a list"},
		"a mapping":                    {"t.yaml", "id: a", Invalid, "not a list"},
		"a row that is a text":         {"t.yaml", "- id: a\n- b", Invalid, "row 2, line 2"},
		"two documents":                {"t.yaml", "- id: a\n---\n- id: b", Invalid, "more than one YAML document"},
		"no YAML":                      {"t.yaml", "- id: 'a", Invalid, "yaml"},
		"a field twice":                {"t.yaml", "- {id: a, id: b}", Invalid, `"id" occurs twice`},
		"a name that is no text":       {"t.yaml", "- {[a]: b}", Invalid, "the name of a field is not a string"},
		"a mapping that merges itself": {"t.yaml", "- &a {<<: *a}", Invalid, ""},
		"merges of merges of merges":   {"t.yaml", merges, Invalid, "merges more than 20"},
		"a field that no row has":      {"t.yaml", "- uid: a", NotFound, `field "id"`},
		"no JSON":                      {"t.json", "- id: a", Invalid, "invalid JSON"},
		"no line of names":             {"t.csv", "", Invalid, "header line is missing"},
		"a column that is not there":   {"t.csv", "uid\na", NotFound, `no column "id"`},
		"a column twice":               {"t.csv", "id,x, x\na,b,c", Invalid, `two columns have the name "x"`},
		"a line that is too short":     {"t.csv", "id,x\na", Invalid, "line 2"},
		"a quote that does not end":    {"t.csv", "id\n\"a", Invalid, "line "},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := fromKey(t, test.key, test.text).Read(context.Background(), Query{Columns: []string{"id"}})
			wantError(t, err, test.class, test.want)
		})
	}
	source := mustOpen(t, tenantv1.DataSource{Type: tenantv1.SourceConfigMap, ConfigMap: &tenantv1.ConfigMapSource{Name: "gone", Key: "k"}}, things{}, Options{})
	_, err := source.Read(context.Background(), Query{Columns: []string{"id"}})
	wantError(t, err, NotFound, "gone")
	_, err = fromKey(t, "t.csv", "id").Read(context.Background(), Query{})
	wantError(t, err, Invalid, "needs 1 to 1600 columns")
	_, err = fromKey(t, "t.csv", "id\n"+strings.Repeat("a\n", 11)).Read(context.Background(), Query{Columns: []string{"id"}, Limits: Limits{Rows: 10}})
	wantError(t, err, TooMuch, "more than 10 rows")
	_, err = fromKey(t, "t.csv", "id\n"+strings.Repeat("a", 100)).Read(context.Background(), Query{Columns: []string{"id"}, Limits: Limits{Bytes: 50}})
	wantError(t, err, TooMuch)
}

func TestConditionsOfDocuments(t *testing.T) {
	source := fromKey(t, "t.yaml", "- {id: a, plan: pro}\n- {id: b}\n- {id: c, plan: free}")
	got := mustRead(t, source, Query{Columns: []string{"id"}, Where: []tenantv1.RowCondition{{Column: "plan", Operator: notIn, Values: []string{"free"}}}})
	if diff := cmp.Diff([]map[string]string{{"id": "a"}, {"id": "b"}}, plain(got)); diff != "" {
		t.Error(diff)
	}
	_, err := source.Read(context.Background(), Query{Columns: []string{"id"}, Where: []tenantv1.RowCondition{{Column: "paln", Operator: doesNotExist}}})
	wantError(t, err, NotFound, `field "paln"`)
}

// Any text results in rows with all columns, or in an error that says what was attempted.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{"- {id: a}", `[{"id": "a"}]`, "id\na", "- &a {<<: [*a]}", "- !!binary x", "[{\"id\": {\"a\": [1e400]}}]", "id,\"\n", "- ? {a: b}\n  : c", "%YAML 1.2\n---\n- {}"} {
		for _, key := range []string{"k", "k.json", "k.yaml", "k.csv"} {
			f.Add(key, text)
		}
	}
	f.Fuzz(func(t *testing.T, key, text string) {
		q, err := Query{Columns: []string{"id", "plan"}, Limits: Limits{Rows: 100, Bytes: 1 << 16}}.checked("read a text")
		if err != nil {
			t.Fatal(err)
		}
		reading, err := readText(t.Context(), key, text, q)
		if err != nil {
			return
		}
		if len(reading.Rows) > 100 {
			t.Fatalf("%d rows", len(reading.Rows))
		}
		for _, row := range reading.Rows {
			if len(row) != 2 {
				t.Fatalf("a row has %v", row)
			}
		}
	})
}
