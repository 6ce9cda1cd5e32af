// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// verdicts are values for one variable "v" and what must come of them. want is
// the value that tofu gets; "" means that the value is refused.
var verdicts = map[string]struct{ declaration, value, want string }{
	"a number for a number":                          {`type = number`, `5`, `5`},
	"a string of digits for a number":                {`type = number`, `"5"`, `"5"`},
	"a word for a number":                            {`type = number`, `"five"`, ``},
	"an empty string for a number":                   {`type = number`, `""`, ``},
	"a number for a string":                          {`type = string`, `5`, `5`},
	"a list for a string":                            {`type = string`, `["a"]`, ``},
	"a string that looks like JSON for a string":     {`type = string`, `"[\"a\"]"`, `"[\"a\"]"`},
	"a bool in quotes":                               {`type = bool`, `"true"`, `"true"`},
	"a bool in capitals":                             {`type = bool`, `"True"`, ``},
	"a JSON list in a string for a list":             {`type = list(string)`, `"[\"a\", \"b\"]"`, `["a","b"]`},
	"a JSON list of the wrong elements":              {`type = list(number)`, `"[\"a\"]"`, ``},
	"a word for a list":                              {`type = list(string)`, `"a"`, ``},
	"the old list keyword":                           {`type = list`, `["a"]`, `["a"]`},
	"a JSON object in a string for an object":        {`type = object({ a = number })`, `"{\"a\": 1}"`, `{"a":1}`},
	"an object without a required attribute":         {`type = object({ a = number, b = string })`, `{"a": 1}`, ``},
	"an object without an optional attribute":        {`type = object({ a = number, b = optional(string, "x") })`, `{"a": 1}`, `{"a": 1}`},
	"a nested optional default of a list of objects": {`type = list(object({ a = optional(number, 3) }))`, `[{}]`, `[{}]`},
	"an object with more attributes than declared":   {`type = object({ a = number })`, `{"a": 1, "z": 2}`, `{"a": 1, "z": 2}`},
	"a map of lists in a string":                     {`type = map(list(string))`, `"{\"a\":[\"b\"]}"`, `{"a":["b"]}`},
	"anything for any":                               {`type = any`, `"[1]"`, `"[1]"`},
	"anything without a type":                        {``, `{"a": [1, "b"]}`, `{"a": [1, "b"]}`},
	"a tuple":                                        {`type = tuple([string, number])`, `["a", 1]`, `["a", 1]`},
	"a tuple that is too long":                       {`type = tuple([string])`, `["a", 1]`, ``},
	"a set":                                          {`type = set(string)`, `["a", "a"]`, `["a", "a"]`},
	"null where null is allowed":                     {`type = number`, `null`, `null`},
	"null where null is not allowed":                 {"type = number\n nullable = false", `null`, ``},
	"null where null means the default":              {"type = number\n nullable = false\n default = 3", `null`, `null`},
	"null in a string for a number":                  {`type = number`, `"null"`, `null`},
	"a mixed list for list(any)":                     {`type = list(any)`, `["a", {"b": 1}]`, ``},
}

// TestVerdictsAreThoseOfTofu gives every accepted value to the real tofu, and
// every refused one as well, unless it is our own kindness (a string for a
// structure) that decides.
func TestVerdictsAreThoseOfTofu(t *testing.T) {
	tofu := tofutest.Tofu(t)
	for name, c := range verdicts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := "variable \"v\" {\n" + c.declaration + "\n}\noutput \"o\" {\n value = var.v\n}\n"
			m, diags := Parse(map[string][]byte{"main.tf": []byte(program)})
			if len(diags) > 0 {
				t.Fatal(diags.Format(formatPlain))
			}
			values, problems, warnings := CheckVariables(m, map[string]json.RawMessage{"v": json.RawMessage(c.value)})
			if len(warnings) > 0 {
				t.Error(warnings)
			}
			if (c.want == "") != (len(problems) > 0) || string(values["v"]) != c.want {
				t.Errorf("got %s, problems %v", values["v"], problems)
			}
			given := values["v"]
			if given == nil {
				given = json.RawMessage(c.value)
			}
			if accepted := plans(t, tofu, program, given); accepted != (c.want != "") {
				t.Errorf("tofu accepts: %v", accepted)
			}
		})
	}
}

func plans(t *testing.T, tofu, program string, value json.RawMessage) bool {
	t.Helper()
	dir := t.TempDir()
	vars, err := json.Marshal(map[string]json.RawMessage{"v": value})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"main.tf": []byte(program), "x.auto.tfvars.json": vars} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(tofu, "plan", "-input=false", "-no-color")
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "CHECKPOINT_DISABLE=1"}
	out, err := cmd.CombinedOutput()
	if err != nil && !bytes.Contains(out, []byte("Error:")) {
		t.Fatalf("%v\n%s", err, out)
	}
	return err == nil
}

func TestAllProblemsAreReportedTogether(t *testing.T) {
	m, diags := Parse(map[string][]byte{"variables.tf": []byte(`variable "missing" {
  type = string
}
variable "wrong" {
  type = map(object({ size = number }))
}
variable "fine" {
  default = 1
}
`)})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	_, problems, warnings := CheckVariables(m, map[string]json.RawMessage{
		"wrong": json.RawMessage(`{"s3cr3t-key": {"size": "s3cr3t"}}`), "stranger": json.RawMessage(`"s3cr3t"`),
		// as Secrets with outputs have it
		"wrong__type": json.RawMessage(`"[]"`), "stranger__type": json.RawMessage(`"[]"`), "lonely__type": json.RawMessage(`"[]"`),
	})
	want := `variables.tf:1: variable "missing": it has neither a value nor a default (string)
variables.tf:4: variable "wrong": in […].size: a number is required (declared type: map(object({size=number})))`
	if diff := cmp.Diff(want, problems.Error()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		`the module does not declare a variable "lonely__type"; its value is not used`,
		`the module does not declare a variable "stranger"; its value is not used`,
	}, warnings); diff != "" {
		t.Error(diff)
	}
}

func TestAValueFromElsewhereIsNotMissing(t *testing.T) {
	m, diags := Parse(files(
		"main.tf", "variable \"a\" {}\nvariable \"b\" {}\nvariable \"c\" {}\nvariable \"d\" {}\nvariable \"e\" {}\n",
		"terraform.tfvars", "a = 1\n", "x.auto.tfvars.json", `{"b": 1}`, "other.tfvars", "d = 1\n",
	))
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	_, problems, _ := CheckVariables(m, nil, "TF_VAR_c", "TF_LOG")
	if len(problems) != 2 || problems[0].Variable != "d" || problems[1].Variable != "e" {
		t.Error(problems)
	}
}

func TestProblemsNeverContainTheValue(t *testing.T) {
	for name, declaration := range map[string]string{
		"map of objects": `map(object({ a = list(bool) }))`, "map of numbers": `map(number)`, "number": `number`,
		"list": `list(number)`, "object": `object({ b = string })`, "tuple": `tuple([bool])`, "any list": `list(any)`,
	} {
		for _, value := range []string{
			`"s3cr3t"`, `"{\"s3cr3t\":\"s3cr3t\"}"`, `{"s3cr3t":{"s3cr3t":["s3cr3t"]}}`, `["s3cr3t", {"s3cr3t":1}]`,
			`{"s3cr3t":[1]}`, `{"s3cr3t`, `"[\"s3cr3t"`, `{"s3cr\"3t\": s3cr3t": {"a":["s3cr3t"]}}`,
		} {
			m, _ := Parse(map[string][]byte{"main.tf": []byte("variable \"v\" {\n type = " + declaration + "\n}")})
			_, problems, _ := CheckVariables(m, map[string]json.RawMessage{"v": json.RawMessage(value)})
			if text := problems.Error(); strings.Contains(text, "s3cr") {
				t.Errorf("%s, %s: %s", name, value, text)
			}
		}
	}
}

func TestHugeNumbersAreRefused(t *testing.T) {
	m, _ := Parse(map[string][]byte{"main.tf": []byte("variable \"v\" {\n type = string\n}")})
	_, problems, _ := CheckVariables(m, map[string]json.RawMessage{"v": json.RawMessage(`1e999999999`)})
	if len(problems) != 1 {
		t.Error(problems)
	}
}
