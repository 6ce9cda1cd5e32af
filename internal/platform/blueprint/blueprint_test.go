// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"encoding/json"
	"strings"
	"testing"
)

const whole = `apiVersion: yuba.dev/v1alpha1
kind: Platform
metadata: {name: acme}
spec:
  organization: {name: acme}
  domain: {fqdn: acme.example.org}
  library: {sourceRef: {kind: ExternalArtifact, name: modules}}
  regions:
  - {name: eu-1, provider: hetzner, controlPlanes: 3, variables: {cidr: 10.30.0.0/16, zones: [a, b]}}
  components:
  - {name: vault}
`

func TestABlueprintIsRead(t *testing.T) {
	b, problems, err := Read([]byte(whole))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if s := b.Platform.Spec; s.Approval != "Manual" || s.Removal != "Destroy" || s.Domain.Mode != "Manual" || s.Regions[0].ControlPlanes != 3 || s.Interval.Duration == 0 {
		t.Errorf("the blueprint is %+v", s)
	}
	if _, defaulted := b.Object.Object["spec"].(map[string]any)["approval"]; defaulted {
		t.Error("the manifest to apply has defaults of this version")
	}
}

func TestANameComesFromTheDomain(t *testing.T) {
	for fqdn, want := range map[string]string{"acme.example.org": "acme-example-org", "a-very-long-name-of-a-company.example.org": "a-very-long-name-of"} {
		text := strings.Replace(strings.Replace(whole, "metadata: {name: acme}\n", "", 1), "acme.example.org", fqdn, 1)
		if b, problems, err := Read([]byte(text)); err != nil || len(problems) > 0 || b.Object.GetName() != want {
			t.Errorf("%s: %v %v", fqdn, err, problems)
		}
	}
}

func TestWhatABlueprintMayNotBe(t *testing.T) {
	change := func(old, now string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("the blueprint has no %q", old)
		}
		return strings.Replace(whole, old, now, 1)
	}
	for sentence, c := range map[string]struct{ text, field, message string }{
		"an unknown field":           {change("provider: hetzner", "provider: hetzner, contolPlanes: 3"), "spec.regions[0].contolPlanes", "no such field"},
		"two control planes":         {change("controlPlanes: 3", "controlPlanes: 2"), "spec.regions[0].controlPlanes", "odd number"},
		"text instead of a number":   {change("controlPlanes: 3", "controlPlanes: three"), "spec.regions[0].controlPlanes", "must be of type integer"},
		"a missing provider":         {change("provider: hetzner, ", ""), "spec.regions[0].provider", "a value is required"},
		"no regions":                 {change("  - {name: eu-1, provider: hetzner, controlPlanes: 3, variables: {cidr: 10.30.0.0/16, zones: [a, b]}}\n", "    []\n"), "spec.regions", "at least 1"},
		"a hostile name":             {change("name: eu-1", `name: "eu-1; rm -rf /"`), "spec.regions[0].name", "should match"},
		"a path that leads out":      {change("{name: vault}", "{name: vault, module: {path: ../../etc}}"), "spec.components[0].module.path", "stays inside"},
		"two modules in one":         {change("{name: vault}", "{name: vault, module: {path: a, inline: {main.tf: ''}}}"), "spec.components[0].module", "either path, inline or registry"},
		"records without a provider": {change("fqdn: acme.example.org", "fqdn: acme.example.org, mode: API"), "spec.domain", "needs a provider"},
		"two regions with one name":  {change("  components:", "  - {name: eu-1, provider: aws}\n  components:"), "spec.regions[1]", "uplicate"},
		"a component nobody has":     {change("{name: vault}", "{name: vault, dependsOn: [consul]}"), "spec.components[0].dependsOn", "no component consul"},
		"an approval there is not":   {change("  regions:", "  approval: Never\n  regions:"), "spec.approval", "supported values"},
		"registry text as a program": {change("{name: vault}", `{name: vault, module: {registry: {source: 'a/b/c" }', version: "1"}}}`), "spec.components[0].module.registry.source", "should match"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, problems, err := Read([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				if p.Field == c.field && strings.Contains(p.Message, c.message) {
					return
				}
			}
			t.Errorf("problems %v, want %s: %s", problems, c.field, c.message)
		})
	}
	for sentence, c := range map[string]struct{ text, want string }{
		"a Secret beside it": {whole + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {t: hunter2}\n", "credentials have no place"},
		"two platforms":      {whole + "---\n" + whole, "several Platforms"},
		"another kind":       {"apiVersion: v1\nkind: ConfigMap\n", `kind "ConfigMap"`},
		"nothing":            {"# nothing\n", "is empty"},
		"no YAML":            {"a: b: c", "read the blueprint"},
		"a key twice":        {change("kind: Platform", "kind: Platform\nkind: Platform"), "already set"},
		"too large":          {whole + strings.Repeat("#", MaxSize), "at most"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, _, err := Read([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// Problems quote no values of variables: they may be secrets.
func TestProblemsQuoteNoVariables(t *testing.T) {
	text := strings.Replace(whole, "variables: {cidr: 10.30.0.0/16, zones: [a, b]}", "variables: hunter2", 1)
	_, problems, err := Read([]byte(text))
	if err != nil || len(problems) == 0 {
		t.Fatal(err, problems)
	}
	for _, p := range problems {
		if strings.Contains(p.String(), "hunter2") {
			t.Errorf("%s", p)
		}
	}
}

func TestTheSchemaIsJSON(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Schema     string                    `json:"$schema"`
		Properties map[string]map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(text, &schema); err != nil || schema.Schema == "" || schema.Properties["spec"]["properties"] == nil || schema.Properties["status"] != nil {
		t.Errorf("error %v, schema %v", err, schema)
	}
}
