// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/policy/rego"
	"github.com/yuba-dev/yuba/internal/testkit/plantest"
)

var programs string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "suite-")
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

const regoPolicies = `apiVersion: yuba.dev/v1alpha1
kind: ClusterPolicy
metadata: {name: own}
spec:
  selector: {}
  autoApprove: true
  rules:
  - {name: inline, onViolation: deny, rego: {inline: "package main\ndeny contains {\"msg\": \"gone\", \"address\": c.address} if { some c in input.facts.changes; \"delete\" in c.actions }"}}
  - {name: far, rego: {sourceRef: {kind: GitRepository, namespace: platform, name: rules}, path: deep}}
`

// Rules in Rego are evaluated by the program that the server uses, those of sources from directories.
func TestSuitesEvaluateRego(t *testing.T) {
	engine := rego.NewEngine(func(name string) (string, error) { return filepath.Join(programs, name), nil })
	t.Cleanup(engine.Close)
	with := plantest.Files{"main.tf": "resource \"terraform_data\" \"a\" {}\n"}
	create := plantest.Make(t, plantest.Case{Files: with}).Show
	destroy := plantest.Make(t, plantest.Case{Before: with, Files: plantest.Files{"main.tf": ""}}).Show
	const rules = "package main\nwarn contains \"careful\" if { count(input.resource_changes) > 0 }\n"
	const head = "apiVersion: policy.yuba.dev/v1\nkind: PolicyTest\n"
	const sources = "sources: {GitRepository/platform/rules: rego}\n"
	const tests = `tests:
- {name: created, plan: create.json, expect: {decision: Held, findings: [{rule: far, message: careful}]}}
- {name: destroyed, plan: destroy.json, expect: {decision: Refused, findings: [{rule: far, message: careful}, {rule: inline, address: terraform_data.a, message: gone}]}}
- {name: wrong, plan: create.json, expect: {decision: Freed}}
`
	for sentence, test := range map[string]struct {
		test, rules string
		want        []string
	}{
		"rules from both": {head + sources + tests, rules, []string{"ClusterPolicy/own", "created", "destroyed",
			"wrong: the decision is Held, expected Freed: ClusterPolicy/own: far: careful"}},
		"a source that nobody names": {head + tests, rules, []string{"ClusterPolicy/own",
			"PolicyTest: ClusterPolicy/own: it reads rules from GitRepository/platform/rules. Name the directory with its files in the test: sources: {GitRepository/platform/rules: DIR}"}},
		"a source that no policy reads": {head + "sources: {GitRepository/platform/rules: rego, Bucket/a/b: rego}\n" + tests, rules, []string{"ClusterPolicy/own",
			"PolicyTest: sources names Bucket/a/b, which no policy of the suite reads"}},
		"a directory elsewhere": {head + "sources: {GitRepository/platform/rules: ../rego}\n" + tests, rules, []string{"ClusterPolicy/own", "PolicyTest: ClusterPolicy/own: the file \"../rego\" is not below the directory of"}},
		"rules that do not compile": {head + sources + tests, "package main\ndeny contains x if true\n", []string{"ClusterPolicy/own",
			"PolicyTest: ClusterPolicy/own: spec.rules[1].rego: p.rego:2:15: var x is unsafe"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"own.yaml": regoPolicies, "own_test.yaml": test.test, "rego/deep/p.rego": test.rules, "create.json": string(create), "destroy.json": string(destroy)} {
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			results, err := Run(t.Context(), engine, []string{dir}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, r := range results {
				line := strings.Join(append([]string{r.Name}, r.Problems...), ": ")
				if i < len(test.want) && strings.HasPrefix(line, test.want[i]) {
					line = test.want[i]
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
