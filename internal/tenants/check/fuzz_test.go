// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// FuzzTemplate: for any template, the findings are deterministic.
func FuzzTemplate(f *testing.F) {
	for _, file := range exampleFiles {
		resources, err := json.Marshal(exampleTemplate(f, exampleText(f, file)).Spec.Resources)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(resources)
	}
	for _, lists := range []string{stackOf(sized, "vars: [{name: size, value: \"{{ .plan }}\"}]\n"+toSecret) + reader("url", ""),
		"manifests: [{id: a, nameTemplate: a, spec: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {inline: [], varsFrom: [{}], readInputsFromSecrets: [{}]}}}]"} {
		text, err := yaml.YAMLToJSON([]byte(lists))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, resources []byte) {
		template := &tenantv1.TenantTemplate{}
		if json.Unmarshal(resources, &template.Spec.Resources) != nil {
			return
		}
		template.Namespace, template.Name = "default", "web"
		for _, s := range []Subject{{Template: template, Row: acme()}, {Template: template, Row: SampleOf(template, nil), Invented: true}} {
			one, err := Template(t.Context(), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			other, err := Template(t.Context(), s, nil)
			if diff := cmp.Diff(one, other, cmpopts.IgnoreUnexported(Finding{})); diff != "" || err != nil {
				t.Errorf("%s\n%v", diff, err)
			}
		}
	})
}
