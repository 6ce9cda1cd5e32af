// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const pullRequestPlanners = "yuba.dev_pullrequestplanners.yaml"

func TestExplainHelpsWithPullRequests(t *testing.T) {
	d := load(t, pullRequestPlanners)
	walk("", *d.version.Schema.OpenAPIV3Schema, func(path string, props apiextensionsv1.JSONSchemaProps) {
		if path == ".metadata" || isKubernetes(path) {
			return
		}
		if len(strings.Fields(props.Description)) < 3 {
			t.Errorf("%s is described as %q", path, props.Description)
		}
	})
}

func TestWhatAPullRequestPlannerMayBe(t *testing.T) {
	d := load(t, pullRequestPlanners)
	for sentence, c := range map[string]struct {
		field string
		value any
		ok    bool
	}{
		"the least":                       {ok: true},
		"applied before the merge":        {"apply", map[string]any{"when": "BeforeMerge", "requirements": []any{"Approved", "Undiverged"}, "status": "yuba/production/apply"}, true},
		"without any requirement":         {"apply", map[string]any{"when": "BeforeMerge", "requirements": []any{}}, true},
		"a requirement that there is not": {"apply", map[string]any{"requirements": []any{"Mergeable"}}, false},
		"applied at a time that is not":   {"apply", map[string]any{"when": "Sometimes"}, false},
		"a status that no forge can show": {"apply", map[string]any{"status": "\nx"}, false},
		"owners must approve":             {"approvals", map[string]any{"codeOwners": true}, true},
		"credentials of their own":        {"plans", map[string]any{"serviceAccountName": "planner", "secretRefs": []any{map[string]any{"name": "read-only"}}}, true},
		"the stacks behind":               {"impact", map[string]any{"when": "Always", "levels": int64(2)}, true},
		"the stacks behind, now and then": {"impact", map[string]any{"when": "Sometimes"}, false},
		"stacks by their names":           {"stacks", []any{map[string]any{"namespace": "prod", "name": "network"}}, true},
		"a status of its own":             {"feedback", map[string]any{"status": "yuba/production", "environment": "production", "noComment": true}, true},
		"a page that is no page":          {"feedback", map[string]any{"pageURL": "javascript:alert(1)"}, false},
		"reviews that approve":            {"merge", map[string]any{"approveReviewed": true}, true},
		"webhooks without a secret":       {"webhook", map[string]any{}, false},
		"programs of who opens a request": {"programs", "Allow", true},
		"programs of whoever":             {"programs", "Perhaps", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			spec := map[string]any{"forge": map[string]any{"secretRef": map[string]any{"name": "forge"}}}
			if c.field != "" {
				spec[c.field] = c.value
			}
			_, errs := d.admit(t, map[string]any{"apiVersion": "yuba.dev/v1alpha1", "kind": "PullRequestPlanner", "metadata": map[string]any{"namespace": "prod", "name": "prs"}, "spec": spec})
			if (len(errs) == 0) != c.ok {
				t.Errorf("errors %v", errs)
			}
		})
	}
}
