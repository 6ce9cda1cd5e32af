// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definition_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/finding"
)

const head = `
metadata: {name: bucket}
spec:
  application: {kind: Bucket, plural: buckets, singular: bucket, openAPISchema: '{"type":"object","properties":{"bucketName":{"type":"string"}},"required":["bucketName"]}'}
`

const bucket = head + `
  backend:
    type: Terraform
    terraform:
      prefix: bucket-
      inline: {main.tf: 'variable "bucket_name" { type = string }'}
`

const helm = head + `
  backend:
    type: Helm
    helm:
      prefix: bucket-
      chartRef: {kind: OCIRepository, name: chart}
`

func read(t *testing.T, text string) *appv1.ApplicationDefinition {
	t.Helper()
	d := &appv1.ApplicationDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDefinitions(t *testing.T) {
	for sentence, test := range map[string]struct {
		text string
		// errors are parts of the errors, each in one; empty if the definition is good.
		errors []string
	}{
		"a stack with an inline program": {text: bucket},
		"Cozystack's form": {text: head + `
  release: {prefix: bucket-, labels: {a: b}, chartRef: {kind: ExternalArtifact, name: chart, namespace: cozy-system}}
`},
		"the union with Helm": {text: head + `
  backend: {type: Helm, helm: {prefix: bucket-, chartRef: {kind: OCIRepository, name: chart}}}
`},
		"a release with a template": {text: helm + `      identity: {default: deployer, allowed: [operator]}
      template: {spec: {targetNamespace: "{{ .namespace }}-web", kubeConfig: {secretRef: {name: cluster}}}}
`},
		"a release whose template has an unknown field":  {text: helm + "      template: {spec: {kubeconfig: {}, target: x}}\n", errors: []string{"spec.backend.helm.template"}},
		"a release whose template names another account": {text: helm + "      template: {spec: {serviceAccountName: root}}\n", errors: []string{"spec.serviceAccountName cannot be set"}},
		"a release whose template has an unknown word":   {text: helm + "      template: {spec: {targetNamespace: '{{ .user }}'}}\n", errors: []string{"{{ .user }} is not known"}},
		"no backend":                 {text: head, errors: []string{"neither a release nor one backend"}},
		"a schema that is none":      {text: strings.Replace(bucket, `{"type":"object"`, `{"type":"oops"`, 1), errors: []string{"spec.application.openAPISchema"}},
		"a schema that is not JSON":  {text: strings.Replace(bucket, `{"type":"object"`, `type: object`, 1), errors: []string{"spec.application.openAPISchema"}},
		"a program with an error":    {text: strings.Replace(bucket, `{ type = string }`, `{ type = `, 1), errors: []string{"spec.backend.terraform.inline"}},
		"a variable that is missing": {text: strings.Replace(bucket, `"bucket_name"`, `"name"`, 1), errors: []string{"bucket_name"}},
		"an output that is missing":  {text: bucket + "      outputs: [endpoint]\n", errors: []string{`the program has no output "endpoint"`}},
		"a template": {text: bucket + `      template:
        metadata: {labels: {team: "{{ .namespace }}"}}
        spec: {interval: 1h, backendConfig: {secretSuffix: "{{ .name }}"}, tool: {version: "~> 1.12"}}
`},
		"a template with what the instance decides": {text: bucket + "      template: {spec: {approvePlan: auto}}\n", errors: []string{"spec.approvePlan cannot be set"}},
		"a template with an unknown field":          {text: bucket + "      template: {spec: {intervall: 1h}}\n", errors: []string{`unknown field "intervall"`}},
		"a template with an unknown word":           {text: bucket + "      template: {metadata: {labels: {a: '{{ .user }}'}}}\n", errors: []string{"{{ .user }} is not known"}},
		"a stack's own template is not the definition's": {text: bucket + `      template: {spec: {readInputsFromSecrets: [{name: "${{ .vpc }}", as: vpc}]}}
`},
		"sensitive outputs of a program": {text: bucket + "      sensitiveOutputs: [password]\n", errors: []string{"the program itself says which outputs are sensitive"}},
		"a field that replaces what the template fixes, with a program elsewhere": {text: head + `
  backend:
    type: Terraform
    terraform:
      prefix: bucket-
      sourceRef: {kind: GitRepository, name: modules}
      template: {spec: {vars: [{name: bucket_name, value: fixed}]}}
`, errors: []string{`the variable "bucket_name" is also set by the definition's template`}},
		"a prefix with which no name is valid": {text: strings.Replace(bucket, "prefix: bucket-", "prefix: -bucket-", 1), errors: []string{"begins names with a hyphen"}},
		"a reserved plural":                    {text: strings.Replace(bucket, "plural: buckets", "plural: terraforms", 1), errors: []string{"reserved"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			parsed, found := definition.Parse(read(t, test.text))
			bad := found.Of(finding.Error)
			if (parsed == nil) != (len(test.errors) > 0) || len(test.errors) == 0 && len(bad) > 0 {
				t.Fatalf("parsed: %t, found:\n%s", parsed != nil, found)
			}
			for _, want := range test.errors {
				if !strings.Contains(bad.String(), want) {
					t.Errorf("no error contains %q:\n%s", want, bad)
				}
			}
		})
	}
}

func TestBothShapesMeanTheSame(t *testing.T) {
	released, _ := definition.Parse(read(t, head+"  release: {prefix: bucket-, chartRef: {kind: HelmChart, name: chart}}\n"))
	union, _ := definition.Parse(read(t, head+"  backend: {type: Helm, helm: {prefix: bucket-, chartRef: {kind: HelmChart, name: chart}}}\n"))
	if released == nil || union == nil || cmp.Diff(released.Helm, union.Helm) != "" || released.Prefix != union.Prefix || released.Backend != union.Backend {
		t.Errorf("the released form is %+v, the union %+v", released, union)
	}
}

func TestWhichDefinitionRules(t *testing.T) {
	at := func(text, name string, second int) *appv1.ApplicationDefinition {
		d := read(t, text)
		d.Name, d.CreationTimestamp = name, metav1.NewTime(time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC))
		return d
	}
	other := strings.NewReplacer("Bucket", "Store", "buckets", "stores", "singular: bucket", "singular: store", "prefix: bucket-", "prefix: store-")
	for sentence, test := range map[string]struct {
		first, second *appv1.ApplicationDefinition
		conflict      string
		serves        string
	}{
		"the same kind":          {at(bucket, "a", 1), at(bucket, "b", 2), "the definition a has the kind Bucket", ""},
		"of the same second":     {at(bucket, "a", 1), at(bucket, "b", 1), "the definition a", ""},
		"who serves the kind":    {at(bucket, "b", 2), at(bucket, "a", 1), "the definition b", "b"},
		"the same prefix":        {at(bucket, "a", 1), at(strings.Replace(other.Replace(bucket), "store-", "bucket-", 1), "b", 2), `the prefix "bucket-"`, ""},
		"another kind":           {at(bucket, "a", 1), at(other.Replace(bucket), "b", 2), "", ""},
		"a plural is a kind":     {at(bucket, "a", 1), at(strings.Replace(other.Replace(bucket), "plural: stores", "plural: bucket", 1), "b", 2), "the kind Bucket", ""},
		"several have no prefix": {at(strings.Replace(bucket, "bucket-", `""`, 1), "a", 1), at(strings.Replace(other.Replace(bucket), "store-", `""`, 1), "b", 2), "", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			all := []*appv1.ApplicationDefinition{test.second, test.first}
			serves := func(name string) bool { return name == test.serves }
			if got := definition.Conflict(test.first, all, serves); got != "" {
				t.Errorf("the one that rules is refused: %s", got)
			}
			if got := definition.Conflict(test.second, all, serves); (test.conflict == "") != (got == "") || !strings.Contains(got, test.conflict) {
				t.Errorf("the other one: %q", got)
			}
		})
	}
}
