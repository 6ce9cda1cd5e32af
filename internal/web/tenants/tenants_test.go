// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

func condition(kind, reason string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: reason}
}

func tenant(name string, change func(*tenantv1.Tenant)) *tenantv1.Tenant {
	t := &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, Labels: map[string]string{tenantv1.LabelRegistry: "customers"}}}
	t.Spec.UID, t.Spec.TemplateRef = strings.TrimSuffix(name, "-web"), "web"
	change(t)
	return t
}

func TestRows(t *testing.T) {
	all := []*tenantv1.Tenant{
		tenant("ready-web", func(t *tenantv1.Tenant) {
			t.Status.Conditions = []metav1.Condition{condition("Ready", "Reconciled", metav1.ConditionTrue)}
		}),
		tenant("waits-web", func(t *tenantv1.Tenant) {
			t.Status.Conditions = []metav1.Condition{condition("Ready", "NotAllResourcesReady", metav1.ConditionFalse)}
			t.Status.Waiting = []tenantv1.WaitingResource{{ID: "a", Reason: "Dependency"}, {ID: "b", Reason: "NotReady", Message: "not yet"}, {ID: "c", Reason: "x"}, {ID: "d", Reason: "y"}}
		}),
		tenant("failed-web", func(t *tenantv1.Tenant) {
			t.Status.Conditions = []metav1.Condition{condition("Ready", "ResourcesFailed", metav1.ConditionFalse)}
			t.Status.FailedResources = 1
		}),
		tenant("new-web", func(*tenantv1.Tenant) {}),
	}
	for query, want := range map[string]string{
		"":                                    "failed-web failed ResourcesFailed|new-web running Not reconciled yet.|waits-web waiting a: Dependency; b: not yet; c: x; and 1 more|ready-web ready Reconciled",
		"state:waiting":                       "waits-web waiting a: Dependency; b: not yet; c: x; and 1 more",
		"registry:customers template:web REA": "ready-web ready Reconciled",
		"registry:other":                      "",
		"namespace:prod new":                  "new-web running Not reconciled yet.",
	} {
		var lines []string
		for _, r := range rowsOf(all, query) {
			lines = append(lines, fmt.Sprintf("%s %s %s", r.Name, r.State, r.Says))
		}
		if got := strings.Join(lines, "|"); got != want {
			t.Errorf("%q:\n%s, want\n%s", query, got, want)
		}
	}
}

func TestTemplates(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*tenantv1.TenantTemplate)
		want   string
	}{
		"not seen yet": {func(*tenantv1.TenantTemplate) {}, "running Not reconciled yet."},
		"mistakes": {func(o *tenantv1.TenantTemplate) {
			o.Status.Conditions = []metav1.Condition{condition("Valid", "ValidationFailed", metav1.ConditionFalse), condition("Applied", "Fine", metav1.ConditionTrue)}
		}, "failed The template has mistakes: ValidationFailed"},
		"a paused rollout": {func(o *tenantv1.TenantTemplate) {
			o.Status.Conditions = []metav1.Condition{condition("Applied", tenantv1.ReasonRolloutPaused, metav1.ConditionFalse)}
		}, "pending " + tenantv1.ReasonRolloutPaused},
		"applied": {func(o *tenantv1.TenantTemplate) {
			o.Status.Conditions = []metav1.Condition{condition("Applied", "Done", metav1.ConditionTrue)}
		}, "ready Done"},
	} {
		var o tenantv1.TenantTemplate
		test.change(&o)
		if v := templateOf(&o); string(v.State)+" "+v.Says != test.want {
			t.Errorf("%s: %s %s, want %s", sentence, v.State, v.Says, test.want)
		}
	}
}

func TestResources(t *testing.T) {
	one := tenant("a-web", func(t *tenantv1.Tenant) {
		t.Status.Inventory = []tenantv1.AppliedResource{{ID: "ok", Kind: "Secret", Namespace: "n", Name: "s"}, {ID: "stack", Kind: "Terraform", Namespace: "n", Name: "t"},
			{ID: "far", Kind: "Terraform", Namespace: "n", Name: "t", Cluster: tenantv1.ClusterTarget}}
		t.Status.Waiting = []tenantv1.WaitingResource{{ID: "stack", Reason: "NotReady", Message: "runs"}, {ID: "later", Reason: "Refused", Message: "no"}}
	})
	var lines []string
	for _, r := range resourcesOf(one) {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.ID, r.State, r.Says, r.Address)))
	}
	want := "later failed Refused: no|stack waiting NotReady: runs /stacks/n/t|ok ready|far ready"
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRenderedHidesSecrets(t *testing.T) {
	secret := unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"plan": "{{ .plan }}"}}}
	var template tenantv1.TenantTemplate
	template.Spec.Manifests = []tenantv1.TResource{{ID: "secret", NameTemplate: "{{ .uid }}-secret", Spec: secret}}
	one := tenant("acme-web", func(t *tenantv1.Tenant) {
		t.Annotations = map[string]string{tenantv1.AnnotationActivate: "1", tenantv1.AnnotationExtra: `{"plan":"s3cr3t"}`}
	})
	out := renderedOf(&template, one)
	if len(out.Mistakes) > 0 || len(out.Objects) != 1 || !strings.Contains(out.Objects[0].Text, "name: acme-secret") || strings.Contains(out.Objects[0].Text, "s3cr3t") {
		t.Errorf("%+v", out)
	}
	template.Spec.Manifests[0].NameTemplate = "{{ .nothing"
	if out := renderedOf(&template, one); len(out.Mistakes) == 0 {
		t.Errorf("no mistake: %+v", out)
	}
}
