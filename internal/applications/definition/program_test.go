// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definition_test

import (
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

func TestAgainst(t *testing.T) {
	const place = "spec.backend.terraform."
	called := func(more string) string {
		return head + "\n  backend: {type: Terraform, terraform: {prefix: bucket-, module: acme/bucket/aws@~>1.2" + more + "}}\n"
	}
	for sentence, test := range map[string]struct{ text, program, want string }{
		"they fit":           {called(""), `variable "bucket_name" {}`, ""},
		"a similar variable": {called(""), `variable "bucketName" {}` + "\nvariable \"x\" { default = 1 }", place + `variables.spec.bucketName: the module does not declare the variable "bucket_name"; it declares bucketName (main.tf:1): if that is meant, write that in overrides` + "\n" + place + `variables: the module requires the variable "bucketName", and nothing sets it; add a field to the schema, a value to the template, or a default to the variable (main.tf:1)`},
		"a similar output": {called(", outputs: [endpoint]"), "variable \"bucket_name\" {}\noutput \"endpoints\" { value = 1 }",
			place + `outputs: the program has no output "endpoint"; it has endpoints (main.tf:2)`},
		"a sensitive output that the definition does not know as such": {called(", outputs: [password]"), "variable \"bucket_name\" {}\noutput \"password\" {\n  value = 1\n  sensitive = true\n}",
			place + `outputs: the output "password" of the module is sensitive; name it in sensitiveOutputs, too (main.tf:2)`},
		"one that it knows":                    {called(", outputs: [password], sensitiveOutputs: [password]"), "variable \"bucket_name\" {}\noutput \"password\" {\n  value = 1\n  sensitive = true\n}", ""},
		"what the template sets is passed on":  {called(", template: {spec: {vars: [{name: region, value: eu}]}}"), "variable \"bucket_name\" {}\nvariable \"region\" {}", ""},
		"what only root modules get is not":    {called(", template: {spec: {varsFrom: [{kind: Secret, name: s}]}}"), "variable \"bucket_name\" {}\nvariable \"region\" {}", place + `variables: the module requires the variable "region", and nothing sets it; add a field to the schema, a value to the template, or a default to the variable (main.tf:2)`},
		"a program of a source gets it":        {strings.Replace(called(", template: {spec: {varsFrom: [{kind: Secret, name: s}]}}"), "module: acme/bucket/aws@~>1.2", "sourceRef: {kind: GitRepository, name: a}", 1), "variable \"bucket_name\" {}\nvariable \"region\" {}", ""},
		"a type that does not fit":             {called(""), `variable "bucket_name" { type = number }`, place + `variables.spec.bucketName: its schema has a string, and the variable "bucket_name" wants number; change the type of the field or of the variable (main.tf:1)`},
		"a module without variables says that": {called(""), ``, place + `variables.spec.bucketName: the module does not declare the variable "bucket_name"; it declares no variables`},
	} {
		t.Run(sentence, func(t *testing.T) {
			parsed, found := definition.Parse(read(t, test.text))
			if parsed == nil || !parsed.Elsewhere() {
				t.Fatal(found)
			}
			m, diagnostics := module.Parse(map[string][]byte{"main.tf": []byte(test.program)})
			if len(diagnostics) > 0 {
				t.Fatal(diagnostics)
			}
			if got := parsed.Against(m).String(); got != test.want {
				t.Errorf("\n got %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestProgramsThatOnlyRunsKnow(t *testing.T) {
	parsed, found := definition.Parse(read(t, head+`
  backend:
    type: Terraform
    terraform:
      prefix: bucket-
      sourceRef: {kind: GitRepository, name: a}
      template: {spec: {fileMappings: [{secretRef: {name: s, key: k}, location: workspace, path: more.tf}]}}
`))
	if parsed == nil || !parsed.Joined() {
		t.Errorf("files of Secrets join the program: %s", found)
	}
	if parsed, _ := definition.Parse(read(t, bucket)); parsed.Joined() || parsed.Elsewhere() {
		t.Error("an inline program is elsewhere")
	}
}
