// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/rego"
)

var programs string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "yuba-policy-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	for module, pkg := range map[string]string{"../../../cmd/yuba-policy": ".", "../../..": "./cmd/yuba-sandbox"} {
		build := exec.Command("go", "build", "-C", module, "-o", dir+"/", pkg)
		build.Env = append(build.Environ(), "CGO_ENABLED=0") // as it is released, also with the race detector
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s in %s: %v\n%s", pkg, module, err, out)
			return 1
		}
	}
	programs = dir
	return m.Run()
}

func find(program string) (string, error) { return filepath.Join(programs, program), nil }

func newEngine(t testing.TB) *rego.Engine {
	e := rego.NewEngine(find)
	t.Cleanup(e.Close)
	return e
}

func bundle(t testing.TB, files map[string]string) *rego.Bundle {
	t.Helper()
	b, err := rego.NewBundle(files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var input = map[string]json.RawMessage{
	"resource_changes": json.RawMessage(`[{"address":"aws_vpc.main","type":"aws_vpc","change":{"actions":["delete"],"before":{"id":"vpc-1"}}}]`),
	"facts":            json.RawMessage(`{"stage":"Plan","changes":[{"address":"aws_vpc.main","type":"aws_vpc","action":"delete","destroys":true}]}`),
}

// said returns the findings as "KIND RULE ADDRESS: MESSAGE" lines, or the error.
func said(t testing.TB, e *rego.Engine, b *rego.Bundle) string {
	found, _, err := e.Evaluate(t.Context(), b, "main", rego.NewInput(input), time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC))
	if err != nil {
		return "error: " + err.Error()
	}
	var lines []string
	for kind, list := range map[string][]rego.Finding{"denied": found.Denied, "warned": found.Warned} {
		for _, f := range list {
			lines = append(lines, strings.TrimSpace(kind+" "+f.Rule+" "+f.Address)+": "+f.Message)
		}
	}
	return strings.Join(lines, "\n")
}

func TestEvaluate(t *testing.T) {
	e := newEngine(t)
	for sentence, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"Rego v0, as Conftest's older examples": {map[string]string{"policy.rego": `package main
deny[msg] {
  r := input.resource_changes[_]
  r.change.actions[_] == "delete"
  msg := sprintf("%s is deleted", [r.address])
}`}, "denied deny: aws_vpc.main is deleted"},
		"Rego v1 with contains and if": {map[string]string{"policy.rego": `package main
deny contains msg if {
  some r in input.resource_changes
  "delete" in r.change.actions
  msg := sprintf("%s is deleted", [r.address])
}`}, "denied deny: aws_vpc.main is deleted"},
		"v0 with import rego.v1": {map[string]string{"policy.rego": `package main
import rego.v1
warn contains msg if { input.facts.changes[0].destroys; msg := "careful" }`}, "warned warn: careful"},
		"a v0 module uses one in v1": {map[string]string{
			"policy.rego":  "package main\nimport data.lib\nviolation[{\"msg\": msg, \"address\": a}] { a := lib.deleted[_]; msg := \"no\" }",
			"lib/lib.rego": "package lib\ndeleted contains c.address if { some c in input.facts.changes; c.action == \"delete\" }",
		}, "denied violation aws_vpc.main: no"},
		"data of the bundle": {map[string]string{
			"policy.rego":      "package main\ndeny contains msg if { some r in input.resource_changes; r.type in data.limits.types; msg := r.type }",
			"limits/data.yaml": "types: [aws_vpc]\n",
		}, "denied deny: aws_vpc"},
		"an exception by name":                     {map[string]string{"policy.rego": "package main\ndeny_a contains \"a\" if true\ndeny_b contains \"b\" if true\nexception contains rules if { rules := [\"a\"] }"}, "denied deny_b: b"},
		"a rule that is true":                      {map[string]string{"policy.rego": "package main\ndeny if input.facts.stage == \"Plan\""}, "denied deny: the rule deny is true"},
		"a rule that is false":                     {map[string]string{"policy.rego": "package main\ndefault deny := false\ndeny if input.facts.stage == \"x\""}, ""},
		"a rule that is not defined is no finding": {map[string]string{"policy.rego": "package main\ndeny := \"x\" if input.facts.stage == \"x\""}, ""},
		"the clock is the caller's":                {map[string]string{"policy.rego": "package main\nwarn contains time.weekday(time.now_ns()) if true"}, "warned warn: Friday"},
		"the whole input":                          {map[string]string{"policy.rego": "package main\nwarn contains sprintf(\"%d\", [count(input)]) if true"}, "warned warn: 2"},

		"no rules":                      {map[string]string{"policy.rego": "package other\ndeny contains \"x\" if true"}, "error: the package main has no rule deny, violation or warn; its modules are policy.rego (package other)"},
		"a syntax error":                {map[string]string{"a/policy.rego": "package main\n\ndeny contains msg if { x := }"}, "error: a/policy.rego:3:29: unexpected } token"},
		"a syntax error in v0":          {map[string]string{"policy.rego": "package main\ndeny[msg] {\n  msg := \"x\"\n  y = \n}"}, "error: policy.rego:5:1: unexpected } token"},
		"an unsafe variable":            {map[string]string{"policy.rego": "package main\ndeny contains msg if true"}, "error: policy.rego:2:15: var msg is unsafe"},
		"http.send":                     {map[string]string{"policy.rego": "package main\ndeny contains \"x\" if http.send({\"url\": \"http://example.com\", \"method\": \"GET\"}).status_code == 200"}, "error: policy.rego:2:22: http.send is not available: rules have no network"},
		"http.send in disguise":         {map[string]string{"policy.rego": "package main\ndeny contains \"x\" if is_object({}) with is_object as http.send"}, "error: policy.rego:2:"},
		"opa.runtime":                   {map[string]string{"policy.rego": "package main\ndeny contains x if x := opa.runtime().env.PATH"}, "error: policy.rego:2:25: opa.runtime is not available: rules have no environment"},
		"an error of a function":        {map[string]string{"policy.rego": "package main\ndeny contains \"x\" if to_number(input.facts.stage) > 1"}, "error: policy.rego:2:22: to_number"},
		"a result without msg":          {map[string]string{"policy.rego": "package main\ndeny contains {\"message\": \"x\"} if true"}, "error: the rule deny has a result without \"msg\""},
		"a result of another type":      {map[string]string{"policy.rego": "package main\ndeny contains 1 if true"}, "error: the rule deny has a result that is neither"},
		"a conflict":                    {map[string]string{"policy.rego": "package main\ndeny := \"a\" if true\ndeny := \"b\" if true"}, "error: policy.rego:3:1: rule data.main.deny produced conflicting values: "},
		"recursion":                     {map[string]string{"policy.rego": "package main\ndeny contains f(1) if true\nf(x) := f(x + 1)"}, "error: policy.rego:3:1: rule data.main.f is recursive"},
		"a loop":                        {map[string]string{"policy.rego": "package main\nn := numbers.range(1, 3000)\ndeny contains \"x\" if { some a in n; some b in n; some c in n; a + b + c == 0 }"}, "error: the rules "},
		"too much memory":               {map[string]string{"policy.rego": "package main\ndeny contains \"x\" if count([x | some a in numbers.range(1, 100000); x := numbers.range(a, a + 10000)]) == 0"}, "error: the rules need more than "},
		"a document with a rule's path": {map[string]string{"policy.rego": "package main\ndeny contains \"x\" if true", "data.json": `{"main": {"deny": []}}`}, "error: policy.rego:"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := said(t, e, bundle(t, c.files))
			if got != c.want && (c.want == "" || !strings.HasPrefix(got, "error: ") || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			next := said(t, e, bundle(t, map[string]string{"p.rego": "package main\ndeny contains \"still here\" if true"}))
			if next != "denied deny: still here" {
				t.Errorf("the next policy says %q", next)
			}
		})
	}
}
