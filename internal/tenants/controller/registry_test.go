// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
)

// registryCondition is a condition of the registry "customers".
func (w *testWorld) registryCondition(kind string) metav1.Condition {
	w.t.Helper()
	reg, _ := get(w, &tenantv1.TenantRegistry{}, "customers")
	if c := apimeta.FindStatusCondition(reg.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// count is the number of tenants.
func (w *testWorld) count() int {
	w.t.Helper()
	return len(strings.Fields(w.names()))
}

// lines are the rows of n active tenants.
func lines(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("t%02d,host-%d,1,pro", i, i))
	}
	return list
}

func TestALargeDeletionWaitsForAConfirmation(t *testing.T) {
	w := newWorld(t)
	w.rows(lines(10)...)
	w.registry(nil)
	w.template("web", oneConfigMap)
	w.eventually("all are there", func() bool { return w.count() == 10 })
	w.rows(lines(5)...)
	var held *tenantv1.HeldDeletion
	w.eventually("the deletion is held", func() bool {
		reg, _ := get(w, &tenantv1.TenantRegistry{}, "customers")
		held = reg.Status.Held
		return held != nil && held.Count == 5 && apimeta.IsStatusConditionTrue(reg.Status.Conditions, tenantv1.ConditionHeld)
	})
	w.quiet()
	if n := w.count(); n != 10 {
		t.Fatalf("%d tenants are left", n)
	}
	update(w, &tenantv1.TenantRegistry{}, "customers", func(reg *tenantv1.TenantRegistry) {
		reg.Annotations = map[string]string{tenantv1.AnnotationConfirmDeletion: held.ID}
	})
	w.eventually("they are gone", func() bool { return w.count() == 5 })
	// A single tenant may be deleted at any time.
	w.rows(lines(4)...)
	w.eventually("one more is gone", func() bool { return w.count() == 4 })
}

func TestRowsThatCannotBeReadChangeNothing(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro", "beta,b,1,pro")
	w.registry(nil)
	w.template("web", oneConfigMap)
	w.eventually("both are there", func() bool { return w.count() == 2 })
	update(w, &corev1.ConfigMap{}, "table", func(cm *corev1.ConfigMap) {
		cm.Data["rows.csv"] = "id,url,active\nacme,a,1\n" // without the column plan
	})
	w.eventually("the registry says so", func() bool {
		c := w.registryCondition(tenantv1.ConditionReady)
		return c.Status == metav1.ConditionFalse && strings.Contains(c.Message, "plan") && strings.Contains(c.Message, "last read at 20") &&
			strings.Contains(c.Message, "The next attempt is at 20") && strings.Contains(c.Message, "yuba reconcile tenantregistry customers -n "+w.namespace)
	})
	w.must(w.c.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "table"}}))
	w.eventually("the registry says what is missing", func() bool {
		c := w.registryCondition(tenantv1.ConditionReady)
		return c.Status == metav1.ConditionFalse && strings.Contains(c.Message, "table")
	})
	if w.count() != 2 {
		t.Errorf("there are %s", w.names())
	}
	w.rows("acme,a,1,pro", "beta,b,1,pro", "gamma,c,1,pro")
	w.eventually("it goes on", func() bool {
		return w.count() == 3 && w.registryCondition(tenantv1.ConditionReady).Status == metav1.ConditionTrue
	})
}

func TestRowsThatCannotBeTenantsAreToldAndTheOthersGoOn(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro", ",b,1,pro", "twin,c,1,pro", "twin,d,1,pro", "Acme Corp!,e,1,pro")
	w.registry(nil)
	w.template("web", oneConfigMap)
	w.eventually("two are there", func() bool { return w.count() == 2 })
	var reg *tenantv1.TenantRegistry
	w.eventually("the others are told", func() bool {
		reg, _ = get(w, &tenantv1.TenantRegistry{}, "customers")
		return reg.Status.LastSync != nil && reg.Status.LastSync.RejectedRows == 3 && len(reg.Status.LastSync.Rejected) == 2
	})
	var list tenantv1.TenantList
	w.must(w.c.List(t.Context(), &list, client.InNamespace(w.namespace)))
	i := slices.IndexFunc(list.Items, func(x tenantv1.Tenant) bool { return x.Spec.UID == "Acme Corp!" })
	if i < 0 || !strings.HasPrefix(list.Items[i].Name, "acme-corp-") || list.Items[i].Labels[tenantv1.LabelUID]+"-web" != list.Items[i].Name {
		t.Errorf("a uid that is not a valid name became %s", w.names())
	}
}

func TestARegistryThatGoesLeavesItsTenants(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", oneConfigMap)
	w.ready("acme-web")
	w.must(w.c.Delete(t.Context(), &tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "customers"}}))
	w.eventually("the tenant says so", func() bool {
		return w.condition("acme-web", tenantv1.ConditionReady).Reason == tenantv1.ReasonRegistryGone
	})
	w.eventually("the template says so", func() bool {
		tpl, _ := get(w, &tenantv1.TenantTemplate{}, "web")
		c := apimeta.FindStatusCondition(tpl.Status.Conditions, tenantv1.ConditionApplied)
		return c != nil && c.Reason == tenantv1.ReasonRegistryNotFound
	})
	if _, there := w.configMap("acme-settings"); !there {
		t.Error("its object is gone")
	}
	// Everything is as before when the registry is back.
	w.registry(nil)
	w.ready("acme-web")
}

func TestATemplateThatGoesTakesItsTenantsAlong(t *testing.T) {
	w := newWorld(t)
	w.rows(lines(5)...)
	w.registry(func(s *tenantv1.TenantRegistrySpec) {
		s.Protection = &tenantv1.Protection{MaxDeletePercent: new(int32)}
	})
	w.template("web", oneConfigMap)
	w.template("other", strings.ReplaceAll(oneConfigMap, "-settings", "-other"))
	w.eventually("all are there, and the template knows", func() bool {
		tpl, _ := get(w, &tenantv1.TenantTemplate{}, "web")
		return w.count() == 10 && slices.Contains(tpl.Finalizers, tenantv1.TemplateFinalizer)
	})
	w.must(w.c.Delete(t.Context(), &tenantv1.TenantTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}))
	var held *tenantv1.HeldDeletion
	w.eventually("that is held, and the template waits", func() bool {
		reg, _ := get(w, &tenantv1.TenantRegistry{}, "customers")
		tpl, there := get(w, &tenantv1.TenantTemplate{}, "web")
		c := apimeta.FindStatusCondition(tpl.Status.Conditions, tenantv1.ConditionApplied)
		held = reg.Status.Held
		return held != nil && there && tpl.DeletionTimestamp != nil && c != nil && c.Reason == tenantv1.ReasonTemplateDeleting
	})
	update(w, &tenantv1.TenantRegistry{}, "customers", func(reg *tenantv1.TenantRegistry) {
		reg.Annotations = map[string]string{tenantv1.AnnotationConfirmDeletion: held.ID}
	})
	w.eventually("its tenants and then the template are gone", func() bool {
		_, there := get(w, &tenantv1.TenantTemplate{}, "web")
		return !there && w.count() == 5 && !strings.Contains(w.names(), "-web")
	})
}

func TestATemplateThatCannotBeMakesNothing(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", `
deployments:
- id: app
  nameTemplate: "{{ .uid }}-app"
  spec: {apiVersion: apps/v1, kind: Deployment, spec: {replicas: 1}}
`)
	w.eventually("the template says what is wrong and what to do", func() bool {
		tpl, _ := get(w, &tenantv1.TenantTemplate{}, "web")
		c := apimeta.FindStatusCondition(tpl.Status.Conditions, tenantv1.ConditionValid)
		applied := apimeta.FindStatusCondition(tpl.Status.Conditions, tenantv1.ConditionApplied)
		return c != nil && c.Status == metav1.ConditionFalse && strings.Contains(c.Message, "Deployment") && strings.Contains(c.Message, "kubeConfig") &&
			applied != nil && applied.Status == metav1.ConditionFalse && applied.Reason == tenantv1.ReasonValidationFailed && strings.Contains(applied.Message, c.Message)
	})
	if w.count() != 0 {
		t.Errorf("there are %s", w.names())
	}
	w.template("web", oneConfigMap)
	w.ready("acme-web")
}

func TestAChangeReachesTenantsInWaves(t *testing.T) {
	w := newWorld(t)
	w.rows(lines(6)...)
	w.registry(nil)
	waves := "rollout: {maxSkew: 2}" + stackAndSettings
	w.template("web", waves)
	w.eventually("all stacks are there", func() bool { return w.count() == 6 })
	for i := range 6 {
		name := fmt.Sprintf("t%02d", i)
		w.eventually("the stack of "+name+" is there", func() bool { _, there := get(w, &infrav1.Terraform{}, name+"-infra"); return there })
		w.applied(name + "-infra")
	}
	for i := range 6 {
		w.ready(fmt.Sprintf("t%02d-web", i))
	}
	w.template("web", strings.ReplaceAll(waves, "suspend: true", "suspend: false"))
	// Two are on their way: nobody has applied the new generation of their stacks.
	unready := func() (list []string, changed int) {
		for i := range 6 {
			tenant := w.tenant(fmt.Sprintf("t%02d-web", i))
			if !passes.StandingOf(tenant).Ready {
				list = append(list, fmt.Sprintf("t%02d", i))
			}
			if tenant.Annotations[tenantv1.AnnotationTemplateGeneration] == "2" {
				changed++
			}
		}
		return list, changed
	}
	w.eventually("two tenants have the change", func() bool { _, changed := unready(); return changed == 2 })
	w.quiet()
	if list, changed := unready(); len(list) > 2 || changed != 2 {
		t.Fatalf("%v are not ready, and %d have the change", list, changed)
	}
	w.eventually("the rest follows as they get ready", func() bool {
		list, changed := unready()
		if len(list) > 2 {
			t.Fatalf("%v are not ready at a time", list)
		}
		for _, name := range list {
			w.applied(name + "-infra")
		}
		return changed == 6 && len(list) == 0
	})
	w.eventually("the template says that it is complete", func() bool {
		tpl, _ := get(w, &tenantv1.TenantTemplate{}, "web")
		s := tpl.Status.Rollout
		return s != nil && s.Phase == tenantv1.RolloutComplete && s.TargetGeneration == 2 && s.UpdatedTenants == 6 && s.CompletionTime != nil
	})
}

func TestTenantsOfThePublishedOperatorAreTakenOver(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.rows("acme,a,1,pro")
	w.template("web", oneConfigMap)
	// As Tenant Operator leaves them: another name, no label of ours, an inventory of names.
	old := &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "tenant-acme", Finalizers: []string{tenantv1.Finalizer},
		Labels: map[string]string{tenantv1.LabelRegistry: "customers", tenantv1.LabelUID: "acme"}},
		Spec: tenantv1.TenantSpec{UID: "acme", TemplateRef: "web"}}
	w.must(w.c.Create(ctx, old))
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "acme-settings", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(old, tenantv1.GroupVersion.WithKind(tenantv1.TenantKind))}},
		Data: map[string]string{"plan": "old"}}
	w.must(w.c.Create(ctx, cm, client.FieldOwner("somebody")))
	w.registry(nil)
	w.eventually("the tenant has its template", func() bool { return len(w.tenant("tenant-acme").Spec.ConfigMaps) == 1 })
	w.ready("tenant-acme")
	if w.names() != "tenant-acme" {
		t.Errorf("there are %s", w.names())
	}
	now, _ := w.configMap("acme-settings")
	if now.UID != cm.UID || now.Data["plan"] != "pro" || now.Labels[tenantv1.LabelUID] != "acme" {
		t.Errorf("its object is %v %v", now.Labels, now.Data)
	}
}

func TestARequestToReadNowIsAnswered(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", oneConfigMap)
	w.ready("acme-web")
	update(w, &tenantv1.TenantRegistry{}, "customers", func(reg *tenantv1.TenantRegistry) {
		reg.Annotations = map[string]string{"reconcile.fluxcd.io/requestedAt": "now"}
	})
	w.eventually("it is answered", func() bool {
		reg, _ := get(w, &tenantv1.TenantRegistry{}, "customers")
		return reg.Status.LastHandledReconcileAt == "now"
	})
}
