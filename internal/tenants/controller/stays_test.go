// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// A tenant that cannot be deleted reports the reason in its condition.
func TestATenantThatDoesNotGoSaysWhy(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", `
manifests:
- id: vpc
  nameTemplate: "{{ .uid }}-vpc"
  spec:
    apiVersion: infra.contrib.fluxcd.io/v1alpha2
    kind: Terraform
    spec: {interval: 1h, inline: {main.tf: ""}}
configMaps:
- id: settings
  nameTemplate: "{{ .uid }}-settings"
  spec: {data: {a: b}}
`)
	w.eventually("its objects are there", func() bool {
		_, stack := w.stack("acme-vpc")
		_, settings := w.configMap("acme-settings")
		return stack && settings
	})
	const holder = "example.com/hold"
	hold := func(obj client.Object, finalizers ...string) {
		t.Helper()
		before := obj.DeepCopyObject().(client.Object)
		obj.SetFinalizers(finalizers)
		w.must(w.c.Patch(t.Context(), obj, client.MergeFrom(before)))
	}
	stack, _ := w.stack("acme-vpc")
	hold(stack, holder)
	before := stack.DeepCopy()
	apimeta.SetStatusCondition(&stack.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: infrav1.ReasonPlanFailed,
		Message: "Error: the account\nis closed", ObservedGeneration: stack.Generation})
	w.must(w.c.Status().Patch(t.Context(), stack, client.MergeFrom(before)))
	settings, _ := w.configMap("acme-settings")
	hold(settings, holder)

	w.rows("acme,a,0,pro")
	w.eventually("the tenant says why it does not go", func() bool {
		c := w.condition("acme-web", tenantv1.ConditionReady)
		return strings.Contains(c.Message, "2 objects have to go: ") && strings.Contains(c.Message, "Terraform acme-vpc is being deleted: Error: the account is closed")
	})
	waiting := map[string]string{}
	for _, r := range w.tenant("acme-web").Status.Waiting {
		waiting[r.ID] = r.Message
	}
	if want := "is being deleted: it waits for its finalizers " + holder; !strings.Contains(waiting["settings"], want) {
		t.Errorf("the ConfigMap waits: %q, want %q", waiting["settings"], want)
	}
	stack, _ = w.stack("acme-vpc")
	hold(stack)
	w.eventually("the tenant tells of the other one", func() bool {
		return strings.Contains(w.condition("acme-web", tenantv1.ConditionReady).Message, "1 object has to go: ConfigMap acme-settings. ConfigMap acme-settings is being deleted: it waits")
	})
	settings, _ = w.configMap("acme-settings")
	hold(settings)
	w.eventually("the tenant is gone", func() bool { return w.names() == "" })
}
