// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/plantest"
)

const policies = `# other documents are skipped
kind: ConfigMap
---
apiVersion: yuba.dev/v1alpha1
kind: ClusterPolicy
metadata: {name: safe}
spec:
  selector: {matchExpressions: [{key: env, operator: NotIn, values: [dev]}]}
  namespaceSelector: {matchLabels: {tier: gold}}
  rules:
  - builtin: no-destroy
  - {builtin: change-window, with: {windows: [{days: [mon], from: "09:00", to: "16:00"}]}}
  autoApprove: true
  exemptions:
  - {rules: [no-destroy], addresses: [terraform_data.b], reason: goes anyway, expires: 2026-06-01T00:00:00Z}
---
apiVersion: yuba.dev/v1alpha1
kind: Policy
metadata: {name: own}
spec: {selector: {}, rules: [{builtin: max-changes, with: {total: 0}}], onViolation: deny, enforcement: audit}
`

const monday, later = "2026-05-04T10:00:00Z", "2026-06-08T10:00:00Z"

// write writes the files of a test, with plans of the real tool.
func write(t *testing.T, dir, tests string) {
	t.Helper()
	files := map[string][]byte{"policies.yaml": []byte(policies), "safe_test.yaml": []byte("apiVersion: policy.yuba.dev/v1\nkind: PolicyTest\n" + tests)}
	two := plantest.Files{"main.tf": "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {}\n"}
	files["plans/create.json"] = plantest.Make(t, plantest.Case{Files: two}).Show
	files["plans/destroy.json"] = plantest.Make(t, plantest.Case{Before: two, Files: plantest.Files{"main.tf": ""}}).Show
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSuites(t *testing.T) {
	dir := t.TempDir()
	gold := "namespaceLabels: {tier: gold}, at: "
	write(t, dir, `tests:
- {name: freed, plan: plans/create.json, `+gold+monday+`, expect: {decision: Freed, findings: [{policy: Policy/default/own, rule: max-changes}]}}
- {name: held, plan: plans/destroy.json, `+gold+monday+`, expect: {decision: Held, findings: [{rule: no-destroy, address: "terraform_data.*", message: destroyed}, {rule: max-changes}]}}
- {name: the exemption has expired, plan: plans/destroy.json, `+gold+later+`, expect: {decision: Held, findings: [{rule: no-destroy, address: terraform_data.a}, {rule: max-changes}]}}
- {name: no window, plan: plans/create.json, `+gold+`2026-05-05T10:00:00Z, expect: {decision: Held}}
- {name: not selected, plan: plans/destroy.json, stack: {labels: {env: dev}}, `+gold+monday+`, expect: {decision: Passed}}
- {name: wrong, plan: plans/destroy.json, `+gold+monday+`, expect: {decision: Freed, findings: [{rule: no-iam}]}}
- {name: no plan, expect: {decision: Freed}}
- {name: no such plan, plan: plans/none.json, expect: {decision: Freed}}
- {name: a plan elsewhere, plan: ../plan.json, expect: {decision: Freed}}
- {name: nothing is expected, plan: plans/create.json}
`)
	results, err := Run(t.Context(), nil, []string{dir}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range results {
		got[r.Name] = strings.Join(r.Problems, "; ")
	}
	want := map[string]string{
		"ClusterPolicy/safe": "", "Policy//own": "", "freed": "", "held": "", "no window": "", "not selected": "",
		"the exemption has expired": "the finding was not expected: ClusterPolicy/safe: no-destroy: terraform_data.b: would be destroyed",
		"wrong": "the decision is Held, expected Freed: ClusterPolicy/safe: no-destroy: terraform_data.a: would be destroyed; there is no finding of rule no-iam; " +
			"the finding was not expected: ClusterPolicy/safe: no-destroy: terraform_data.a: would be destroyed; the finding was not expected: Policy/default/own: max-changes: 2 resources would be changed; at most 0 are allowed",
		"no plan":             "plan is missing: name a file with the output of `tofu show -json PLAN`",
		"no such plan":        "open " + filepath.Join(dir, "plans/none.json") + ": no such file or directory",
		"a plan elsewhere":    `the file "../plan.json" is not below the directory of ` + filepath.Join(dir, "safe_test.yaml"),
		"nothing is expected": `expect.decision is "", expected Freed, Passed, Held, Refused`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSuitesThatCannotBeUsed(t *testing.T) {
	for sentence, c := range map[string]struct{ tests, want string }{
		"an unknown field":         {"tests: [{name: x, plans: y}]", `unknown field "plans"`},
		"no tests":                 {"policies: [policies.yaml]", "there are no tests"},
		"a file without policies":  {"policies: [safe_test.yaml]\ntests: [{plan: x}]", "has no Policy or ClusterPolicy"},
		"policies from elsewhere":  {"policies: [/etc/passwd]\ntests: [{plan: x}]", "is not below the directory"},
		"policies that are absent": {"policies: [none.yaml]\ntests: [{plan: x}]", "no such file"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"policies.yaml": policies, "safe_test.yaml": "apiVersion: policy.yuba.dev/v1\nkind: PolicyTest\n" + c.tests + "\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		results, err := Run(t.Context(), nil, []string{filepath.Join(dir, "safe_test.yaml")}, time.Now())
		if err != nil || len(results) != 1 || !strings.Contains(strings.Join(results[0].Problems, ";"), c.want) {
			t.Errorf("%s: %+v %v, want %q", sentence, results, err, c.want)
		}
	}
}
