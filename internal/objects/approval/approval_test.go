// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// object reads the spec and annotations of a stack, or of another kind that the text names.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	if text == "" {
		return nil
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	if u.GetKind() == "" {
		u.SetAPIVersion("infra.contrib.fluxcd.io/v1alpha2")
		u.SetKind("Terraform")
	}
	return u
}

func TestAnEmptyApprovalTakesNoApprovalBack(t *testing.T) {
	const empty, absent = `spec: {approvePlan: "", path: a}`, `spec: {path: a}`
	for sentence, c := range map[string]struct{ live, want string }{
		"there is no object yet":                  {"", absent},
		"nothing is approved":                     {`spec: {approvePlan: ""}`, absent},
		"the object has no such field":            {`spec: {}`, absent},
		"a plan is approved":                      {`spec: {approvePlan: plan-main-1a2b3c4d5e}`, absent},
		"somebody has made it apply all plans":    {`spec: {approvePlan: auto}`, empty},
		"somebody has made it look only":          {`spec: {approvePlan: disable}`, empty},
		"somebody has made it replan":             {`spec: {approvePlan: replan-1}`, empty},
		"the object has something else than text": {`spec: {approvePlan: 3}`, absent},
	} {
		t.Run(sentence, func(t *testing.T) {
			manifest := object(t, empty)
			if !Concerns(manifest) {
				t.Error("the live object would not be looked at")
			}
			got := Omit(manifest, object(t, c.live))
			if diff := cmp.Diff(object(t, c.want).Object, got.Object); diff != "" {
				t.Errorf("what is applied (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(object(t, empty).Object, manifest.Object); diff != "" {
				t.Errorf("the manifest was changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyAnEmptyApprovalOfAStackConcerns(t *testing.T) {
	for _, text := range []string{`spec: {}`, `spec: {approvePlan: auto}`, `spec: {approvePlan: plan-1}`, `spec: {approvePlan: 3}`, `spec: none`, `{}`,
		`{kind: Terraform, apiVersion: example.com/v1, spec: {approvePlan: ""}}`, `{kind: Other, apiVersion: infra.contrib.fluxcd.io/v1alpha2, spec: {approvePlan: ""}}`} {
		if Concerns(object(t, text)) {
			t.Errorf("%s concerns", text)
		}
	}
	if old := object(t, `{kind: Terraform, apiVersion: infra.contrib.fluxcd.io/v1alpha1, spec: {approvePlan: ""}}`); !Concerns(old) {
		t.Error("the old version of the kind does not concern")
	}
}

func TestReplacingAStackCarriesApprovalsOver(t *testing.T) {
	for sentence, c := range map[string]struct{ manifest, live, want string }{
		"there is no object yet":              {`spec: {approvePlan: ""}`, "", `spec: {approvePlan: ""}`},
		"a plan is approved, it says nothing": {`spec: {path: a}`, `spec: {approvePlan: plan-1}`, `spec: {path: a, approvePlan: plan-1}`},
		"a plan is approved, it says empty":   {`spec: {approvePlan: ""}`, `spec: {approvePlan: plan-1}`, `spec: {approvePlan: plan-1}`},
		"it approves another plan":            {`spec: {approvePlan: plan-2}`, `spec: {approvePlan: plan-1}`, `spec: {approvePlan: plan-2}`},
		"it says auto":                        {`spec: {approvePlan: auto}`, `spec: {approvePlan: plan-1}`, `spec: {approvePlan: auto}`},
		"somebody has made it apply all":      {`spec: {approvePlan: ""}`, `spec: {approvePlan: auto}`, `spec: {approvePlan: ""}`},
		"its spec is not an object":           {`spec: none`, `spec: {approvePlan: plan-1}`, `spec: none`},
		"what people asked for stays": {`metadata: {annotations: {a: b, yuba.dev/rejected: plan-3}}`,
			`metadata: {annotations: {a: c, d: e, yuba.dev/approved: plan-1, yuba.dev/rejected: plan-2}}`,
			`metadata: {annotations: {a: b, yuba.dev/approved: plan-1, yuba.dev/rejected: plan-3}}`},
		"without annotations of its own": {`spec: {}`, `metadata: {annotations: {yuba.dev/rejected: plan-2}}`,
			`{metadata: {annotations: {yuba.dev/rejected: plan-2}}, spec: {}}`},
		"another kind stays what it is": {`{kind: Other, apiVersion: v1, spec: {}}`, `{kind: Other, apiVersion: v1, spec: {approvePlan: plan-1}}`,
			`{kind: Other, apiVersion: v1, spec: {}}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := CarryOver(object(t, c.manifest), object(t, c.live))
			if diff := cmp.Diff(object(t, c.want).Object, got.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhoOwnsAnApproval(t *testing.T) {
	u := object(t, `spec: {approvePlan: plan-1}`)
	entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	u.SetManagedFields([]metav1.ManagedFieldsEntry{
		entry("kustomize-controller", "", `{"f:spec": {"f:path": {}}}`), entry("yuba", "status", `{"f:spec": {"f:approvePlan": {}}}`),
		entry("broken", "", `{"f:spec": 3}`), {Manager: "none"}, entry("kubectl-patch", "", `{"f:spec": {"f:approvePlan": {}}}`)})
	for manager, want := range map[string]bool{"kubectl": true, "kustomize-controller": false, "yuba": false, "broken": false, "none": false} {
		if got := OwnedBy(u, manager); got != want {
			t.Errorf("%s: %v", manager, got)
		}
	}
	if got := Enforcer(u); got != "" {
		t.Errorf("%s enforces it, and applies no manifest", got)
	}
	entries := u.GetManagedFields()
	applied := entry("flux", "", `{"f:spec": {"f:approvePlan": {}}}`)
	applied.Operation = metav1.ManagedFieldsOperationApply
	own := applied
	own.Manager = Manager
	u.SetManagedFields(append(entries, own))
	if got := Enforcer(u); got != "" {
		t.Errorf("%s enforces it", got)
	}
	u.SetManagedFields(append(entries, own, applied))
	if got := Enforcer(u); got != "flux" {
		t.Errorf("%q enforces it", got)
	}
	if got := Of(u); got != "plan-1" {
		t.Errorf("it approves %q", got)
	}
}
