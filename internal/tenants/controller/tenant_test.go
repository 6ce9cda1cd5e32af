// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	tenantctl "github.com/yuba-dev/yuba/internal/tenants/tenant"
)

func TestRowsBecomeTenantsAndTenantsObjects(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,https://acme.example.com/,1,pro", "beta,beta.example.com,true,free", "idle,idle.example.com,0,free")
	w.registry(nil)
	w.template("web", oneConfigMap)
	tenant := w.ready("acme-web")
	w.ready("beta-web")
	if got := w.names(); got != "acme-web beta-web" {
		t.Errorf("there are %s", got)
	}
	cm, _ := w.configMap("acme-settings")
	if diff := cmp.Diff(map[string]string{"plan": "pro", "host": "acme.example.com"}, cm.Data); diff != "" {
		t.Error(diff)
	}
	if cm.Labels[tenantv1.LabelUID] != "acme" || len(cm.OwnerReferences) != 1 || cm.OwnerReferences[0].UID != tenant.UID {
		t.Errorf("its marks are %v %v", cm.Labels, cm.OwnerReferences)
	}
	if m := cm.ManagedFields; len(m) != 1 || m[0].Manager != tenantv1.FieldManager || m[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Errorf("managed fields are %v", m)
	}
	s := tenant.Status
	if s.ReadyResources != 1 || s.DesiredResources != 1 || len(s.Inventory) != 1 || s.Inventory[0].Hash == "" || s.Inventory[0].Print == "" ||
		!slices.Equal(s.AppliedResources, []string{"ConfigMap/" + w.namespace + "/acme-settings@settings"}) {
		t.Errorf("the status is %+v", s)
	}
	if !slices.Contains(tenant.Finalizers, tenantv1.Finalizer) || len(tenant.OwnerReferences) != 0 || tenant.Labels[tenantv1.LabelRegistry] != "customers" {
		t.Errorf("the tenant is %+v", tenant.ObjectMeta)
	}
	w.eventually("the registry counts them", func() bool {
		reg, _ := get(w, &tenantv1.TenantRegistry{}, "customers")
		return reg.Status.Desired == 2 && reg.Status.Ready == 2 && reg.Status.LastSync != nil && reg.Status.LastSync.Rows == 3 &&
			apimeta.IsStatusConditionTrue(reg.Status.Conditions, tenantv1.ConditionReady)
	})
	w.eventually("the template counts them", func() bool {
		tpl, _ := get(w, &tenantv1.TenantTemplate{}, "web")
		return tpl.Status.TotalTenants == 2 && tpl.Status.ReadyTenants == 2 && slices.Contains(tpl.Finalizers, tenantv1.TemplateFinalizer) &&
			apimeta.IsStatusConditionTrue(tpl.Status.Conditions, tenantv1.ConditionApplied)
	})

	// A changed row changes only its own object.
	before, _ := w.configMap("beta-settings")
	w.rows("acme,https://acme.example.com/,1,gold", "beta,beta.example.com,true,free", "idle,idle.example.com,0,free")
	w.eventually("the object is as its row", func() bool {
		cm, _ := w.configMap("acme-settings")
		return cm.Data["plan"] == "gold"
	})
	if after, _ := w.configMap("beta-settings"); after.ResourceVersion != before.ResourceVersion {
		t.Error("another tenant's object was written")
	}
}

func TestAPassThatFindsNothingNewAsksNothing(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro", "beta,b,1,pro")
	w.registry(nil)
	w.template("web", oneConfigMap)
	w.ready("acme-web")
	w.ready("beta-web")
	w.quiet()
	mark := running.requests.mark()
	for _, name := range []string{"acme-web", "beta-web"} {
		if _, err := w.r.tenants.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	if asked := running.requests.of(w.namespace, mark); len(asked) > 0 {
		t.Errorf("two passes asked %q", asked)
	}
	// Another pass over the registry writes nothing.
	if _, err := w.r.registries.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "customers"}}); err != nil {
		t.Fatal(err)
	}
	for _, r := range running.requests.of(w.namespace, mark) {
		if !strings.HasPrefix(r, "GET ") {
			t.Errorf("a quiet sync did %s", r)
		}
	}
}

const stackAndSettings = `
manifests:
- id: infra
  nameTemplate: "{{ .uid }}-infra"
  spec:
    apiVersion: infra.contrib.fluxcd.io/v1alpha2
    kind: Terraform
    spec:
      interval: 1h
      suspend: true
      inline: {main.tf: 'output "url" { value = "x" }'}
      writeOutputsToSecret: {name: "{{ .uid }}-outputs"}
configMaps:
- id: settings
  nameTemplate: "{{ .uid }}-settings"
  dependIds: [infra]
  spec: {apiVersion: v1, kind: ConfigMap, data: {plan: "{{ .plan }}"}}
`

// applied sets a stack's status to applied, like its controller.
func (w *testWorld) applied(name string) {
	w.t.Helper()
	stack, _ := get(w, &infrav1.Terraform{}, name)
	before := stack.DeepCopy()
	stack.Status.ObservedGeneration = stack.Generation
	stack.Status.LastAppliedRevision = "inline@1"
	apimeta.SetStatusCondition(&stack.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "TerraformAppliedSucceed",
		Message: "Applied", ObservedGeneration: stack.Generation})
	w.must(w.c.Status().Patch(w.t.Context(), stack, client.MergeFrom(before)))
}

func TestWhatDependsOnAStackWaitsUntilItIsApplied(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", stackAndSettings)
	w.eventually("the stack is there, and what depends on it waits", func() bool {
		_, stack := get(w, &infrav1.Terraform{}, "acme-infra")
		tenant := w.tenant("acme-web")
		return stack && slices.ContainsFunc(tenant.Status.Waiting, func(x tenantv1.WaitingResource) bool {
			return x.ID == "settings" && x.Reason == tenantctl.WaitDependency
		})
	})
	if c := w.condition("acme-web", tenantv1.ConditionReady); c.Reason != tenantv1.ReasonNotAllResourcesReady {
		t.Errorf("Ready is %s: %s", c.Reason, c.Message)
	}
	if _, there := w.configMap("acme-settings"); there {
		t.Error("a dependant exists before the stack is ready")
	}
	w.applied("acme-infra")
	w.ready("acme-web")
	if _, there := w.configMap("acme-settings"); !there {
		t.Error("a dependant does not exist after the stack is ready")
	}

	// Dependants of the stack are deleted first.
	update(w, &corev1.ConfigMap{}, "acme-settings", func(cm *corev1.ConfigMap) { cm.Finalizers = []string{"example.com/wait"} })
	w.rows("acme,a,0,pro")
	w.eventually("the ConfigMap is going", func() bool {
		cm, there := w.configMap("acme-settings")
		return there && cm.DeletionTimestamp != nil
	})
	w.quiet()
	if stack, there := get(w, &infrav1.Terraform{}, "acme-infra"); !there || stack.DeletionTimestamp != nil {
		t.Error("the stack is deleted before its dependants")
	}
	if c := w.condition("acme-web", tenantv1.ConditionReady); c.Reason != tenantv1.ReasonDeleting {
		t.Errorf("Ready is %s: %s", c.Reason, c.Message)
	}
	update(w, &corev1.ConfigMap{}, "acme-settings", func(cm *corev1.ConfigMap) { cm.Finalizers = nil })
	w.eventually("all are gone", func() bool {
		_, stack := get(w, &infrav1.Terraform{}, "acme-infra")
		return !stack && w.names() == ""
	})
}

func TestWhatSomebodyChangesIsUndone(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", oneConfigMap)
	w.ready("acme-web")
	update(w, &corev1.ConfigMap{}, "acme-settings", func(cm *corev1.ConfigMap) { cm.Data["plan"] = "stolen" })
	w.eventually("the change is undone", func() bool {
		cm, _ := w.configMap("acme-settings")
		return cm.Data["plan"] == "pro"
	})
	w.must(w.c.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "acme-settings"}}))
	w.eventually("what was deleted is made again", func() bool { _, there := w.configMap("acme-settings"); return there })
}
