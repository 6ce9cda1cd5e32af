// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// stackWith is a template with one stack that has these fields.
func stackWith(fields string) string {
	return "{manifests: [{id: t, nameTemplate: t, spec: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {approvePlan: x, destroyResourcesOnDeletion: false, " + fields + "}}}]}"
}

// rendered is a field of the template's one object.
func rendered(t *testing.T, text, field string, extra map[string]string) any {
	t.Helper()
	r := acme()
	r.Extra = extra
	objects, errs := Objects(tenantOf(t, templateOf(t, text), r, nil))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return objects[0].Object.Object["spec"].(map[string]any)[field]
}

// A column's author must not write templates: a stack writes a row's text unchanged, and never
// executes it.
func TestRowsWriteNoTemplatesForStacks(t *testing.T) {
	vault := map[string]any{"vault": map[string]any{"password": "s3cr3t"}, "net": map[string]any{"id": "net-1"}}
	for sentence, test := range map[string]struct{ in, note, want string }{
		"a template":                    {"{{ .note }}", "${{ .vault.password }}", "${{ .vault.password }}"},
		"beside the stack's own":        {"${{ .net.id }}: {{ .note }}", "a ${{ .vault.password }} b", "net-1: a ${{ .vault.password }} b"},
		"a dollar sign of the template": {"US${{ .net.id }} $ {{ .note }}", "{{ .vault.password }}", "USnet-1 $ {{ .vault.password }}"},
		"put together":                  {`{{ printf "%s%s" "$" .note }}`, "{{ .vault.password }}", "${{ .vault.password }}"},
		"one character at a time":       {`${{ .net.id }}{{ range splitList "" .note }}{{ . }}{{ end }}`, "${{ .vault.password }}", "net-1${{ .vault.password }}"},
		"before the stack's own":        {"{{ .note }}${{ .net.id }}", "$", "$net-1"},
		"the end of one":                {"{{ .note }}", "}} ${{", "}} ${{"},
		"the stack's own in an action":  {`{{ if .note }}${{ .net.id }}{{ end }}`, "x", "net-1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			values := rendered(t, stackWith("values: {a: "+quoted(test.in)+"}"), "values", map[string]string{"note": test.note}).(map[string]any)
			text := values["a"].(string)
			if strings.Contains(text, "yuba:") {
				t.Errorf("the replacement of the stack's own templates is still there: %s", text)
			}
			got, err := template.Text("spec.values", text, vault)
			if err != nil || got != test.want {
				t.Errorf("%s gives %q, %v", text, got, err)
			}
		})
	}
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func TestNamesAndListsOfStacksAreNoTemplatesEither(t *testing.T) {
	same(t, rendered(t, stackWith(`values: {"{{ .note }}": ["{{ .note }}", 3], b: "{{ list .note }}"}, webhooks: [{url: "{{ .note }}"}], path: "{{ .note }}"`), "values",
		map[string]string{"note": "${{ .x }}"}), `{'${{ "${{" }} .x }}': ['${{ "${{" }} .x }}', 3], b: ['${{ "${{" }} .x }}']}`)
}

// A program is not a template of the stack.
func TestAProgramIsAsItIs(t *testing.T) {
	const note = "${{ .x }}"
	same(t, rendered(t, stackWith(`values: {hcl: "a = \"$${{ .note }}\""}`), "values", map[string]string{"note": note}), `{hcl: 'a = "$$${{ .x }}"'}`)
	same(t, rendered(t, stackWith(`values: {hcl: "{{ list .note }}"}`), "values", map[string]string{"note": note}), `{hcl: ['${{ "${{" }} .x }}']}`)
}

// Values with the single key hcl are a program, which precedes any source: only the template's
// author may write one.
func TestRowsWriteNoPrograms(t *testing.T) {
	for sentence, test := range map[string]struct {
		in, json, want string
	}{
		"values that a row gives as a whole":     {"'{{ fromJson .json }}'", `{"hcl": "locals {}"}`, "become a program"},
		"values that get their one name of it":   {"{'{{ .json }}': 'locals {}'}", "hcl", "become a program"},
		"values like any":                        {"'{{ fromJson .json }}'", `{"size": 3, "hcl": "x"}`, ""},
		"a program of the template":              {"{hcl: 'locals {}'}", "", ""},
		"one name that is none of a program":     {"'{{ fromJson .json }}'", `{"hcl": ["x"]}`, ""},
		"a row that is no object, and no values": {"'{{ fromJson .json }}'", `"hcl"`, ""},
	} {
		r := acme()
		r.Extra = map[string]string{"json": test.json}
		_, errs := Objects(tenantOf(t, templateOf(t, stackWith("values: "+test.in)), r, nil))
		if (len(errs) > 0) != (test.want != "") || len(errs) > 0 && !strings.Contains(errs[0].Error(), test.want) {
			t.Errorf("%s: %v", sentence, errs)
		}
	}
}

func TestMistakesOfStacksShowTheirOwnText(t *testing.T) {
	tenant := tenantOf(t, templateOf(t, stackWith("values: {'${{ .x }}': '${{ .y }} {{ printf \"${{\" | nope }}'}")), acme(), nil)
	_, errs := Objects(tenant)
	if len(errs) != 1 || !strings.Contains(errs[0].Where, "${{ .x }}") || strings.Contains(errs[0].Error(), "yuba:") {
		t.Errorf("%v", errs)
	}
}

// FuzzRowsInStacks: the stack writes any text of a row unchanged.
func FuzzRowsInStacks(f *testing.F) {
	for _, seed := range []string{"acme", "${{ .vault.password }}", "$", "{{", "}} ${{ .x", "$${{{", "yuba:", "${{ \"${{\" }}", "{", "\x00"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		if !utf8.ValidString(one) || !utf8.ValidString(other) {
			return
		}
		r := acme()
		r.Extra = map[string]string{"one": one, "other": other}
		objects, errs := Objects(tenantOf(t, templateOf(t, stackWith("values: {a: '{{ .one }}{{ .other }}${{ .net.id }}{{ .one }}${{ .net.id }}'}")), r, nil))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		text := objects[0].Object.Object["spec"].(map[string]any)["values"].(map[string]any)["a"].(string)
		got, err := template.Text("spec.values", text, map[string]any{"net": map[string]any{"id": "net-1"}})
		if want := one + other + "net-1" + one + "net-1"; err != nil || got != want {
			t.Errorf("%q gives %q, want %q, %v", text, got, want, err)
		}
	})
}

// Rows need no values for a stack's own templates.
func TestWhatStacksAskForIsNotAskedOfRows(t *testing.T) {
	template := templateOf(t, stackWith(`values: {a: "${{ .vpc.id }}-{{ .note }}"}, path: "{{ .uid }}"`))
	for _, list := range template.Spec.Lists() {
		for i := range list.Items {
			if diff := cmp.Diff([]string{"uid", "note"}, Asked(list, &list.Items[i])); diff != "" {
				t.Error(diff)
			}
		}
	}
}
