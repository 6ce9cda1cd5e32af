// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// acme is a row with all values.
func acme() row.Row {
	return row.Row{UID: "acme", SafeUID: "acme", HostOrURL: "https://acme.example.com", Host: "acme.example.com", Activate: "1", Active: true,
		Extra: map[string]string{"size": "3", "plan": "pro", "zones": `["a","b"]`}}
}

// templateOf reads the lists of a template.
func templateOf(t *testing.T, lists string) *tenantv1.TenantTemplate {
	t.Helper()
	template := &tenantv1.TenantTemplate{}
	if err := yaml.UnmarshalStrict([]byte(lists), &template.Spec); err != nil {
		t.Fatalf("%v\n%s", err, lists)
	}
	template.Namespace, template.Name, template.Generation, template.Spec.RegistryID = "default", "web", 3, "customers"
	return template
}

// stackOf is a stack with the id db, a program and further fields.
func stackOf(program, more string) string {
	return `manifests:
- id: db
  nameTemplate: "{{ .uid }}-db"
  spec:
    apiVersion: infra.contrib.fluxcd.io/v1alpha2
    kind: Terraform
    spec:
      interval: 1h
      inline:
        main.tf: |
` + indented(10, program) + indented(6, more)
}

func indented(n int, text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
		b.WriteString(strings.Repeat(" ", n) + line)
	}
	return b.String()
}

const (
	sized = "variable \"size\" {\n  type = number\n}\n"
	// twoOutputs is a program with outputs.
	twoOutputs = "output \"host\" {\n  value = \"h\"\n}\noutput \"port\" {\n  value = 5432\n}\n"
	toSecret   = "writeOutputsToSecret: {name: \"{{ .uid }}-db-outputs\"}"
)

// reader is a Deployment with the id app that reads a key of the outputs.
func reader(key, more string) string {
	return `deployments:
- id: app
  nameTemplate: "{{ .uid }}-app"
  spec:
    spec:
      template:
        spec:
          containers:
          - name: app
            env:
            - name: X
              valueFrom: {secretKeyRef: {name: "{{ .uid }}-db-outputs", key: ` + key + more + `}}
`
}

// like compares a finding with a pattern, in which … matches any text.
func like(want, got string) bool {
	parts := strings.Split(want, "…")
	if !strings.HasPrefix(got, parts[0]) || !strings.HasSuffix(got, parts[len(parts)-1]) {
		return false
	}
	for _, part := range parts {
		_, rest, found := strings.Cut(got, part)
		if !found {
			return false
		}
		got = rest
	}
	return true
}

func expect(t *testing.T, findings []Finding, want []string) {
	t.Helper()
	for i, f := range findings {
		got := string(f.Severity) + " " + f.String()
		if i >= len(want) || !like(want[i], got) {
			t.Errorf("finding %d is %q", i, got)
		}
	}
	if len(findings) != len(want) {
		t.Errorf("%d findings, want %d: %q", len(findings), len(want), want)
	}
}

func TestTemplate(t *testing.T) {
	for sentence, test := range map[string]struct {
		template string
		want     []string
	}{
		"a stack, and what reads its outputs": {
			stackOf(sized+twoOutputs, "vars: [{name: size, value: \"{{ .size }}\"}]\n"+toSecret) + reader("host", ""), nil},
		"a number by its function": {stackOf(sized, `vars: [{name: size, value: "{{ int .size }}"}]`), nil},
		"a list in a text":         {stackOf("variable \"zones\" {\n  type = list(string)\n}\n", `vars: [{name: zones, value: "{{ .zones }}"}]`), nil},
		"a number from a pool":     {stackOf(sized, `vars: [{name: size, value: '{{ int (allocate "redis" 1 15) }}'}]`), nil},
		"a pool without numbers":   {stackOf(sized, `vars: [{name: size, value: '{{ int (allocate "redis" 9 1) }}'}]`), []string{"error manifests[db]: …the range from 9 to 1 is empty"}},
		"a name that does not render, and a program with two mistakes": {
			`configMaps: [{id: a, nameTemplate: "{{ .uid }}-{{ .nope }}", spec: {data: {}}}, {id: b, nameTemplate: "{{ .also }}", spec: {data: {}}}]` + "\n" + stackOf("variable \"a\" {\n  type = strin\n}\nlocals {\n  x = \n}\n", ""),
			[]string{"error configMaps[a]: nameTemplate…nope…", "error configMaps[b]: nameTemplate…also…", "error manifests[db]: main.tf:2:10: …", "error manifests[db]: main.tf:5:7: …"}},
		"a name that the row has no value of": {`configMaps: [{id: a, nameTemplate: "{{ .uid }}-{{ .nope }}", spec: {data: {}}}]`, []string{"error configMaps[a]: nameTemplate…nope…"}},
		"a manifest that the row has no value of, and one that is well": {
			`configMaps: [{id: a, nameTemplate: "{{ .uid }}-a", spec: {data: {x: "{{ .nope }}"}}}, {id: b, nameTemplate: "{{ .uid }}-b", spec: {data: {x: "{{ .plan }}"}}}]`,
			[]string{"error configMaps[a]: spec.data.x…nope…"}},
		"names that no column gives, where nothing fails for it": {
			`configMaps: [{id: a, nameTemplate: "{{ .uid }}", spec: {data: {x: '{{ if .nope }}a{{ end }}{{ .other | default "b" }}{{ .plan }}'}}}]`,
			[]string{"warning configMaps[a]: the registry maps no column to .nope, so it never has a value; there are activate, host, hostOrUrl, plan, rawUid, registryId, size, templateRef, uid, zones",
				"warning configMaps[a]: the registry maps no column to .other…"}},
		"a key of outputs in another namespace": {
			stackOf(twoOutputs, toSecret) + `- id: claim
  nameTemplate: "{{ .uid }}-claim"
  targetNamespace: elsewhere
  spec: {apiVersion: example.com/v1, kind: Claim, spec: {secretRef: {namespace: default, name: "{{ .uid }}-db-outputs", key: nope}}}
- id: other
  nameTemplate: "{{ .uid }}-other"
  spec: {apiVersion: example.com/v1, kind: Claim, spec: {secretRef: {namespace: elsewhere, name: "{{ .uid }}-db-outputs", key: nope}}}
`, []string{"error manifests[claim]: spec.secretRef: the Secret acme-db-outputs will have no key \"nope\"…"}},
		"two objects with one id": {`configMaps: [{id: a, nameTemplate: "{{ .uid }}-a", spec: {data: {}}}]
secrets: [{id: a, nameTemplate: "{{ .uid }}-b", spec: {stringData: {}}}]`, []string{"error …the id is also that of configMaps[a]…"}},
		"two objects that are one":          {`configMaps: [{id: a, nameTemplate: "{{ .uid }}", spec: {data: {}}}, {id: b, nameTemplate: "{{ .uid }}", spec: {data: {}}}]`, []string{"error configMaps[b]: …same object…"}},
		"a dependency that is not there":    {`configMaps: [{id: a, nameTemplate: "{{ .uid }}", dependIds: [b], spec: {data: {}}}]`, []string{`error configMaps[a]: dependIds names "b", but the template has no object with that id`}},
		"a dependency that does not render": {`configMaps: [{id: a, nameTemplate: "{{ .uid }}", dependIds: [b], spec: {data: {}}}, {id: b, nameTemplate: "{{ .uid }}-b", spec: {data: {x: "{{ .nope }}"}}}]`, []string{"error configMaps[b]: …nope…"}},
		"a field to ignore that is written wrong": {`configMaps: [{id: a, nameTemplate: "{{ .uid }}", ignoreFields: ["$.data.x", "$.data[x"], spec: {data: {}}}]`,
			[]string{`error configMaps[a]: ignoreFields "$.data[x": a [ is not closed`}},
		"a circle of dependencies": {
			`configMaps: [{id: one, nameTemplate: "{{ .uid }}-1", dependIds: [two], spec: {data: {}}}, {id: two, nameTemplate: "{{ .uid }}-2", dependIds: [one], spec: {data: {}}}]`,
			[]string{"error …one…two…"}},
		"a name that all tenants would share": {`configMaps: [{id: a, nameTemplate: settings, spec: {data: {}}}]`,
			[]string{"warning configMaps[a]: every tenant would have the same ConfigMap default/settings, …put {{ .uid }} into its name or namespace"}},
		"a namespace that would take along what is to stay": {
			`namespaces: [{id: ns, nameTemplate: "t-{{ .uid }}", spec: {metadata: {labels: {team: a}}}}]
configMaps: [{id: a, nameTemplate: a, targetNamespace: "t-{{ .uid }}", deletionPolicy: Retain, spec: {data: {}}}]`,
			[]string{`warning namespaces[ns]: the namespace stays when the tenant is deleted, because "a" is in it and has deletionPolicy: Retain…`}},
		"a namespace that stays with what is in it": {
			`namespaces: [{id: ns, nameTemplate: "t-{{ .uid }}", deletionPolicy: Retain, spec: {metadata: {labels: {team: a}}}}]
configMaps: [{id: a, nameTemplate: a, targetNamespace: "t-{{ .uid }}", deletionPolicy: Retain, spec: {data: {}}}]`, nil},
		"the same name in namespaces of their own": {`configMaps: [{id: a, nameTemplate: settings, targetNamespace: "t-{{ .uid }}", spec: {data: {}}}]`, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			findings, err := Template(t.Context(), Subject{Template: templateOf(t, test.template), Row: acme()}, nil)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, findings, test.want)
		})
	}
}

func TestASampleHasEverythingThatARegistryMaps(t *testing.T) {
	registry := &tenantv1.TenantRegistry{Spec: tenantv1.TenantRegistrySpec{ValueMappings: tenantv1.ValueMappings{UID: "id", Activate: "on", HostOrURL: "url"},
		ExtraValueMappings: map[string]string{"size": "plan_size"}}}
	template := templateOf(t, stackOf(sized+"variable \"on\" {\n  type = bool\n}\n", `vars: [{name: size, value: "{{ .size }}"}, {name: "on", value: "{{ .activate }}"}]`)+
		"configMaps: [{id: a, nameTemplate: \"{{ .uid }}\", spec: {data: {host: \"{{ .host }}\"}}}]\n")
	findings, err := Template(t.Context(), Subject{Template: template, Row: Sample(registry), Invented: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, findings, nil)
	if r := Sample(nil); r.SafeUID == "" || !r.Active || r.Extra == nil {
		t.Errorf("without a registry it is %+v", r)
	}
}

func TestAnInventedValueThatDoesNotFitIsNoMistake(t *testing.T) {
	template := templateOf(t, stackOf("variable \"zones\" {\n  type = list(string)\n}\nvariable \"missing\" {}\n", `vars: [{name: zones, value: "{{ .plan }}"}]`))
	findings, err := Template(t.Context(), Subject{Template: template, Row: acme(), Invented: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, findings, []string{`error manifests[db]: main.tf:4: variable "missing": it has neither a value nor a default…`, `warning manifests[db]: main.tf:1: spec.vars[0]: variable "zones": …list of string…`})
}

func TestWithAnInventedRowWhatDependsOnItIsNoMistake(t *testing.T) {
	registry := &tenantv1.TenantRegistry{Spec: tenantv1.TenantRegistrySpec{ValueMappings: tenantv1.ValueMappings{UID: "id", Activate: "on"}, ExtraValueMappings: map[string]string{"config": "c", "name": "n"}}}
	for manifest, want := range map[string]string{
		`{nameTemplate: "{{ .uid }}-{{ (fromJson .config).size }}", spec: {data: {}}}`:     "warning configMaps[a]: nameTemplate: at <",
		`{nameTemplate: "{{ .uid }}", spec: {data: {x: "{{ (fromJson .config).size }}"}}}`: "warning configMaps[a]: spec.data.x: at <",
		`{nameTemplate: "{{ .uid }}", spec: {data: {x: "{{ .confg }}"}}}`:                  "error configMaps[a]: spec.data.x: .confg has no value",
		`{nameTemplate: "{{ .uid }}", spec: {data: {x: "{{ .confg | upper }}"}}}`:          "error configMaps[a]: spec.data.x: at <upper>: its argument has no value",
		`{nameTemplate: "{{ .uid }}", spec: {data: {x: "{{ nope .config }}"}}}`:            `error configMaps[a]: spec.data.x: function "nope" not defined`,
		`{nameTemplate: "{{ .uid }}", spec: {data: {x: "{{ .config"}}}`:                    "error configMaps[a]: spec.data.x: unclosed action",
		`{nameTemplate: "{{ .name }}/x", spec: {data: {}}}`:                                "warning configMaps[a]: ",
	} {
		template := templateOf(t, "configMaps: [{id: a, "+strings.TrimPrefix(manifest, "{")+"]\n")
		findings, err := Template(t.Context(), Subject{Template: template, Row: SampleOf(template, registry), Invented: true}, nil)
		if err != nil || len(findings) != 1 || !strings.HasPrefix(string(findings[0].Severity)+" "+findings[0].String(), want) {
			t.Errorf("%s: %v, %v; want %s", manifest, findings, err, want)
		}
	}
}

// Unknown variables and rows cause no findings.
func TestATemplateWithoutItsRegistry(t *testing.T) {
	template := templateOf(t, `configMaps: [{id: a, nameTemplate: "{{ .uid }}-{{ .plan }}", labelsTemplate: {a: "{{ .label }}"}, spec: {data: {"{{ .key }}": "{{ .value | upper }}", url: "{{ .host }}"}}}]`)
	findings, err := Template(t.Context(), Subject{Template: template, Row: SampleOf(template, nil), Invented: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, findings, nil)
}

func TestSummary(t *testing.T) {
	if Summary(nil) != "" || Summary([]Finding{{Severity: Warning, Message: "w"}}) != "" {
		t.Error("warnings are no mistakes")
	}
	many := make([]Finding, 12)
	for i := range many {
		many[i] = Finding{Severity: Error, ID: "db", Field: "manifests[db]", File: "main.tf", Line: 3, Column: 7, Message: strings.Repeat("x", 600)}
	}
	lines := strings.Split(Summary(many), "\n")
	if len(lines) != 11 || lines[10] != "and 2 more" || !strings.HasPrefix(lines[0], "manifests[db]: main.tf:3:7: xxx") || len([]rune(lines[0])) != 501 {
		t.Errorf("%d lines: %q", len(lines), lines[len(lines)-1])
	}
}
