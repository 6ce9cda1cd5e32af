// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// A manifest of the kind's first version works like any other: the stack is planned, approved,
// applied and destroyed through that version alone.
func TestAStackLivesInTheOldVersion(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.push(t, ns, "code", map[string]string{"main.tf": "variable \"size\" { type = number }\noutput \"double\" { value = var.size * 2 }\n" +
		"resource \"terraform_data\" \"a\" { input = var.size }\n"})
	old := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "infra.contrib.fluxcd.io/v1alpha1", "kind": "Terraform",
		"metadata": map[string]any{"namespace": ns, "name": "old"},
		"spec": map[string]any{
			"interval": "1h", "retryInterval": "1s", "destroyResourcesOnDeletion": true,
			"sourceRef":            map[string]any{"kind": "ExternalArtifact", "name": "code"},
			"vars":                 []any{map[string]any{"name": "size", "value": int64(21)}},
			"writeOutputsToSecret": map[string]any{"name": "out"},
		},
	}}
	y.create(t, old)
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "old"}}
	planned := y.await(t, obj, "its plan waits", waiting)

	change(t, y, old, func(o *unstructured.Unstructured) {
		pending, _, _ := unstructured.NestedString(o.Object, "status", "plan", "pending")
		if pending != planned.Status.Plan.Pending {
			t.Errorf("in the old version the plan %q waits, in the present one %q", pending, planned.Status.Plan.Pending)
		}
		if err := unstructured.SetNestedField(o.Object, pending, "spec", "approvePlan"); err != nil {
			t.Fatal(err)
		}
	})
	applied := y.await(t, obj, "it is ready", ready)
	if got := string(y.secret(t, ns, "out")["double"]); got != "42" {
		t.Errorf("the output is %q", got)
	}
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(old), old); err != nil {
		t.Fatal(err)
	}
	if last, _, _ := unstructured.NestedString(old.Object, "status", "plan", "lastApplied"); last != applied.Status.Plan.LastApplied {
		t.Errorf("in the old version the plan %q was applied, in the present one %q", last, applied.Status.Plan.LastApplied)
	}
	y.delete(t, old)
	y.awaitGone(t, obj)
}
