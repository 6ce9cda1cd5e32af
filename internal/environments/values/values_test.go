// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/tofu/module"
)

func TestCheck(t *testing.T) {
	const program = "variable \"domain\" {\n  description = \"Where the shop is.\\nMore.\"\n}\nvariable \"size\" { default = 1 }\n"
	for sentence, test := range map[string]struct {
		files map[string]string
		given Given
		want  []string
	}{
		"everything has a value":                    {files: map[string]string{"terraform.tfvars": "domain = 1"}},
		"a value by a flag":                         {given: Given{Flags: []string{"domain"}}},
		"a value by the environment":                {given: Given{Environment: []string{"domain", "other"}}},
		"a value in a file":                         {given: Given{Files: []File{{Name: "x.tfvars", Content: []byte("domain = 1")}}}},
		"a missing value":                           {want: []string{"error: e/main.tf:1: the variable \"domain\" has no value (Where the shop is)"}},
		"a misspelt key":                            {files: map[string]string{"terraform.tfvars": "domian = 1"}, want: []string{"error: e/main.tf:1: the variable \"domain\" has no value (Where the shop is); there is a value for \"domian\"", "error: e/terraform.tfvars:1: no variable is named \"domian\"; did you mean domain?"}},
		"a key of nobody in a shared file":          {files: map[string]string{"a.auto.tfvars": "domain = 1"}, given: Given{Files: []File{{Name: "c.tfvars", Content: []byte("region = 1"), Shared: true}}}, want: []string{"warning: c.tfvars:1: no variable is named \"region\""}},
		"a key of nobody in the environment's file": {files: map[string]string{"a.auto.tfvars": "domain = 1"}, given: Given{Files: []File{{Name: "c.tfvars", Content: []byte("region = 1")}}}, want: []string{"error: c.tfvars:1: no variable is named \"region\""}},
		"a flag for nobody":                         {given: Given{Flags: []string{"domain", "sice"}}, want: []string{"error: --var sice: no variable is named \"sice\"; did you mean size?"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			files := map[string][]byte{"main.tf": []byte(program)}
			for name, text := range test.files {
				files[name] = []byte(text)
			}
			m, problems := module.Parse(files)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			test.given.Dir = "e"
			var got []string
			for _, p := range Check(m, test.given) {
				got = append(got, string(p.Severity)+": "+p.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFileThatCannotBeReadIsAProblem(t *testing.T) {
	m, _ := module.Parse(map[string][]byte{"main.tf": []byte("variable \"a\" {}")})
	if got := Check(m, Given{Files: []File{{Name: "x.tfvars", Content: []byte("a = ")}}}); len(got) == 0 || got[len(got)-1].Place != "x.tfvars:1" {
		t.Error(got)
	}
}
