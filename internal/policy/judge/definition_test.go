// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const document = `apiVersion: yuba.dev/v1alpha1
kind: ClusterPolicy
metadata: {name: safe}
spec:
  selector: {matchLabels: {env: prod}}
  namespaceSelector: {matchLabels: {tier: gold}}
  rules:
  - builtin: no-destroy
`

func TestDefinitionsThatCannotBeUsed(t *testing.T) {
	for sentence, c := range map[string]struct {
		document, err string
		problems      []string
	}{
		"as it should be":      {document: document},
		"no YAML":              {document: "a: [", err: "read the policy"},
		"another kind":         {document: strings.Replace(document, "ClusterPolicy", "Terraform", 1), err: `the document's kind is "Terraform", expected Policy or ClusterPolicy`},
		"another version":      {document: strings.Replace(document, "v1alpha1", "v9", 1), err: `the document's apiVersion is "yuba.dev/v9"`},
		"an unknown field":     {document: document + "  onViolations: deny\n", err: `read the policy: unknown field "onViolations"`},
		"an unknown effect":    {document: document + "  onViolation: forbid\n", err: `spec.onViolation is "forbid", expected deny, requireApproval or warn`},
		"an unknown mode":      {document: document + "  enforcement: maybe\n", err: `spec.enforcement is "maybe", expected enforce or audit`},
		"no expiry":            {document: document + "  exemptions: [{reason: because}]\n", err: "spec.exemptions[0] needs a reason, and a time at which it expires"},
		"no name":              {document: strings.Replace(document, "name: safe", "", 1), err: "metadata.name is missing"},
		"a field of the other": {document: strings.Replace(document, "kind: ClusterPolicy", "kind: Policy", 1), err: "namespaceSelector"},
		"an unknown rule":      {document: document + "  - builtin: no-destruction\n", problems: []string{`spec.rules[1]: the built-in rule "no-destruction" does not exist`}},
		"a wrong parameter":    {document: document + "  - {builtin: max-changes, with: {totals: 3}}\n", problems: []string{`unknown field "totals"`}},
	} {
		d, err := Define([]byte(c.document))
		if err == nil != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", sentence, err, c.err)
		}
		if err != nil {
			continue
		}
		problems := d.Problems()
		if len(problems) != len(c.problems) || len(problems) > 0 && !strings.Contains(problems[0], c.problems[0]) {
			t.Errorf("%s: problems %q, want %q", sentence, problems, c.problems)
		}
	}
}

func TestWhatADefinitionSelects(t *testing.T) {
	d, err := Define([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	local, err := Define([]byte("{apiVersion: yuba.dev/v1alpha1, kind: Policy, metadata: {name: own}, spec: {selector: {}, rules: [{builtin: no-destroy}], enforcement: audit}}"))
	if err != nil {
		t.Fatal(err)
	}
	prod, gold := map[string]string{"env": "prod"}, map[string]string{"tier": "gold"}
	for sentence, c := range map[string]struct {
		of         *Definition
		subject    Subject
		namespaces map[string]string
		want       bool
	}{
		"both labels":          {d, Subject{"a", "x", prod}, gold, true},
		"not the namespace's":  {d, Subject{"a", "x", prod}, nil, false},
		"not the stack's":      {d, Subject{"a", "x", nil}, gold, false},
		"its namespace":        {local.In("a"), Subject{"a", "x", nil}, nil, true},
		"another namespace":    {local.In("a"), Subject{"b", "x", nil}, nil, false},
		"a namespace is named": {local.In("a").In("b"), Subject{"b", "x", nil}, nil, false},
	} {
		if got := c.of.Selects(c.subject, c.namespaces); got != c.want {
			t.Errorf("%s: %v, want %v", sentence, got, c.want)
		}
	}
	texts := []string{d.String(), d.Selection(), local.Selection(), local.In("a").String(), local.In("a").Selection(), string(local.Enforced().Spec.Enforcement), string(local.Spec.Enforcement), string(d.Spec.OnViolation)}
	if diff := cmp.Diff([]string{"ClusterPolicy/safe", "stacks with env=prod in namespaces with tier=gold", "all stacks of its namespace", "Policy/a/own", "all stacks of a", "enforce", "audit", "requireApproval"}, texts); diff != "" {
		t.Error(diff)
	}
}
