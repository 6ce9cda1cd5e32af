// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package publishmodule_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/contracts/publishmodule"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/contracts/validation"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

func edition(t *testing.T, of string, rules ...string) publishmodule.Edition {
	t.Helper()
	parsed, err := shape.Parse(of)
	if err != nil {
		t.Fatal(err)
	}
	var list []validation.Rule
	for i, rule := range rules {
		list = append(list, validation.Rule{Text: rule, Message: fmt.Sprintf("rule %d does not hold ${here}", i+1)})
	}
	v, err := validation.Compile(parsed, list)
	if err != nil {
		t.Fatal(err)
	}
	return publishmodule.Edition{Namespace: "prod", Contract: "base", Version: "1.2.0", Type: parsed, Validations: v}
}

// producer is a root module that calls the module of a contract.
type producer struct {
	t         *testing.T
	dir, tofu string
}

func newProducer(t *testing.T, e publishmodule.Edition) producer {
	t.Helper()
	p := producer{t, t.TempDir(), tofutest.Tofu(t)}
	for name, content := range e.Files() {
		p.write("contract/"+name, content)
	}
	p.write("main.tf", "module \"base\" {\n  source = \"./contract\"\n  value = null\n}")
	if out, ok := p.run("init", "-input=false"); !ok {
		t.Fatal(out)
	}
	// The module is written as "tofu fmt" would.
	if out, ok := p.run("fmt", "-check", "-diff", "contract"); !ok {
		t.Error(out)
	}
	return p
}

func (p producer) write(name, content string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p producer) run(args ...string) (out string, ok bool) {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), p.tofu, args...)
	command.Dir = p.dir
	command.Env = []string{"HOME=" + p.dir, "PATH=/usr/bin:/bin", "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1", "TF_CLI_ARGS=-no-color"}
	text, err := command.CombinedOutput()
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(string(text))), " "), err == nil
}

// plan plans with a value, and returns what tofu says if it refuses.
func (p producer) plan(value, output string) string {
	p.t.Helper()
	p.write("main.tf", "resource \"terraform_data\" \"later\" {}\nmodule \"base\" {\n  source = \"./contract\"\n  value = "+value+"\n}\noutput \"base\" {\n  value = module.base.value\n"+output+"}\n")
	if out, ok := p.run("plan", "-input=false"); !ok {
		return out
	}
	return ""
}

const later = "terraform_data.later.id" // unknown until the apply

func TestTofuChecksAProducer(t *testing.T) {
	p := newProducer(t, edition(t, `object({
		vpc_id = string, port = number, note = optional(string), size = optional(number, 3),
		subnets = list(object({ id = string, zone = optional(object({ name = string })) })), tags = map(string), pair = tuple([string, number]) })`,
		"self.subnets.size() >= 1", "self.note == null || self.note.startsWith('n')", "self.subnets.all(s, s.id != 'bad')", "self.vpc_id.size() < 100"))
	with := func(change ...string) string {
		value := `{ vpc_id = "vpc-1", port = 80, subnets = [{ id = "a" }], tags = {}, pair = ["a", 1] }`
		for i := 0; i < len(change); i += 2 {
			replaced := strings.Replace(value, change[i], change[i+1], 1)
			if replaced == value {
				t.Fatalf("%q is not in %s", change[i], value)
			}
			value = replaced
		}
		return value
	}
	for sentence, test := range map[string]struct{ value, says string }{
		"it fits":                                  {with(), ""},
		"other attributes are dropped":             {with("port = 80", "port = 80, other = 1"), ""},
		"a leaf is unknown":                        {with(`"vpc-1"`, later), ""},
		"an element is unknown":                    {with(`{ id = "a" }`, "{ id = "+later+" }"), ""},
		"a list is unknown in part":                {with(`[{ id = "a" }]`, "[for i in [1, 2] : { id = "+later+" }]"), ""},
		"a list is unknown":                        {with(`[{ id = "a" }]`, `jsondecode(`+later+`)`), ""},
		"an optional part is there":                {with(`{ id = "a" }`, `{ id = "a", zone = { name = "z" } }`, "port", `note = "n", port`), ""},
		"the whole value is unknown":               {`jsondecode(` + later + `)`, ""},
		"an attribute is missing":                  {with(`vpc_id = "vpc-1", `, ""), `attribute "vpc_id" is required`},
		"an attribute of an element is missing":    {with(`{ id = "a" }`, `{ zone = null }`), `attribute "id" is required`},
		"another type":                             {with("port = 80", `port = "many"`), "a number is required"},
		"a list instead of a map":                  {with("tags = {}", `tags = ["a"]`), `attribute "tags"`},
		"null":                                     {with(`"vpc-1"`, "null"), "value.vpc_id is null. Contract base 1.2.0 requires a value (string)."},
		"null in an element":                       {with(`{ id = "a" }`, `{ id = "a" }, { id = null }`), "value.subnets[*].id is null."},
		"an element is null":                       {with(`{ id = "a" }`, `null`), "value.subnets[*] is null."},
		"null below an optional part":              {with(`{ id = "a" }`, `{ id = "a", zone = { name = null } }`), "value.subnets[*].zone.name is null."},
		"a null list":                              {with(`[{ id = "a" }]`, "null"), "value.subnets is null."},
		"a null value of a map":                    {with("tags = {}", "tags = { a = null }"), "value.tags[*] is null."},
		"a null element of a tuple":                {with(`["a", 1]`, `["a", null]`), "value.pair[1] is null."},
		"the value is null":                        {"null", "required variable may not be set to null"},
		"a validation":                             {with(`[{ id = "a" }]`, "[]"), "rule 1 does not hold ${here}"},
		"a validation of an optional part":         {with("port", `note = "x", port`), "rule 2 does not hold"},
		"a validation of elements":                 {with(`id = "a"`, `id = "bad"`), "rule 3 does not hold"},
		"a validation beside an unknown leaf":      {with(`"vpc-1"`, later, `id = "a"`, `id = "bad"`), "rule 3 does not hold"},
		"a required part beside an unknown one":    {with(`"vpc-1"`, later, "80", "null"), "value.port is null."},
		"a sensitive part breaks like any other":   {with(`"vpc-1"`, "sensitive(null)"), "value.vpc_id is null."},
		"what tofu cannot check is left to others": {with(`"vpc-1"`, `join("", [for i in range(200) : "x"])`), ""},
	} {
		if got := p.plan(test.value, ""); (got == "") != (test.says == "") || !strings.Contains(got, test.says) {
			t.Errorf("%s: tofu says %q, want %q", sentence, got, test.says)
		}
	}
}

// A contract with private parts makes tofu hide the value, and demand that the output says so.
func TestTofuHidesPrivateParts(t *testing.T) {
	e := edition(t, "object({ host = string, password = string })")
	e.Private, e.Deprecated = []string{"password"}, []publishmodule.Note{{Path: "host", Message: "read ${url}\ninstead"}}
	p := newProducer(t, e)
	const value = `{ host = "db", password = "hunter2" }`
	if got := p.plan(value, ""); !strings.Contains(got, "Output refers to sensitive values") {
		t.Errorf("an output that shows it: %q", got)
	}
	if got := p.plan(value, "  sensitive = true\n"); got != "" {
		t.Error(got)
	}
	if got := p.plan(`{ host = "db", password = ["hunter2"] }`, "  sensitive = true\n"); !strings.Contains(got, `attribute "password": string required`) || strings.Contains(got, "hunter2") {
		t.Errorf("another type: %q", got)
	}
	files := e.Files()
	for _, says := range []string{"Private: password.", "Deprecated: host (read $${url} instead)."} {
		if !strings.Contains(files["main.tf"], says) {
			t.Errorf("main.tf does not say %q:\n%s", says, files["main.tf"])
		}
	}
	if !strings.Contains(files["README.md"], "`password` is private") {
		t.Error(files["README.md"])
	}
}

// Contracts of other shapes: their modules are valid, and take their values.
func TestModulesOfAllTypes(t *testing.T) {
	for of, value := range map[string]string{
		"string":                      later,
		"any":                         `{ a = [1, "x"] }`,
		"map(list(number))":           "{ a = [1] }",
		"set(object({ a = string }))": "[{ a = " + later + " }]",
		"object({ a-b = bool, nested = optional(object({ deep = list(list(string)) })), for = optional(string, \"$${x}\") })": "{ a-b = true }",
		"list(tuple([string, object({ x = number })]))":                                                                       `[["a", { x = 1 }]]`,
	} {
		p := newProducer(t, edition(t, of))
		if got := p.plan(value, ""); got != "" {
			t.Errorf("%s: %s", of, got)
		}
	}
}
