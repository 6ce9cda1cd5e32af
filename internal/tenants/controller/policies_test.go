// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// made creates a ConfigMap without an owner.
func (w *testWorld) made(name string, data map[string]string) *corev1.ConfigMap {
	w.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Data: data}
	w.must(w.c.Create(w.t.Context(), cm, client.FieldOwner("a-person")))
	return cm
}

const withPolicy = `
configMaps:
- id: settings
  nameTemplate: "{{ .uid }}-settings"
  POLICY
  spec: {apiVersion: v1, kind: ConfigMap, data: {plan: "{{ .plan }}"}}
`

func policy(text string) string { return strings.Replace(withPolicy, "POLICY", text, 1) }

func TestWhatSomebodyElseHasIsLeftAloneAndTheTenantSaysWhoThatIs(t *testing.T) {
	w := newWorld(t)
	w.made("acme-settings", map[string]string{"plan": "a person's"})
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", policy("conflictPolicy: Stuck"))
	w.eventually("the tenant says who has it", func() bool {
		c := w.condition("acme-web", tenantv1.ConditionConflicted)
		return c.Status == metav1.ConditionTrue && strings.Contains(c.Message, "a-person") &&
			w.condition("acme-web", tenantv1.ConditionReady).Reason == tenantv1.ReasonResourcesConflicted
	})
	if cm, _ := w.configMap("acme-settings"); cm.Data["plan"] != "a person's" || len(cm.OwnerReferences) != 0 {
		t.Errorf("it was changed: %v", cm.Data)
	}
	// The tenant is deleted without an object that it never had.
	w.rows("acme,a,0,pro")
	w.eventually("the tenant is gone", func() bool { return w.names() == "" })
	if cm, there := w.configMap("acme-settings"); !there || cm.DeletionTimestamp != nil {
		t.Error("another owner's object was deleted")
	}
}

func TestWhatIsTakenByForceIsTheTenants(t *testing.T) {
	w := newWorld(t)
	w.made("acme-settings", map[string]string{"plan": "a person's"})
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", policy("conflictPolicy: Force"))
	w.ready("acme-web")
	if cm, _ := w.configMap("acme-settings"); cm.Data["plan"] != "pro" || len(cm.OwnerReferences) != 1 {
		t.Errorf("it is %v of %v", cm.Data, cm.OwnerReferences)
	}
}

func TestWhatIsMadeOnceIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", policy("creationPolicy: Once"))
	w.ready("acme-web")
	update(w, &corev1.ConfigMap{}, "acme-settings", func(cm *corev1.ConfigMap) { cm.Data["plan"] = "a person's" })
	w.rows("acme,a,1,gold")
	w.eventually("the tenant has heard of its row", func() bool {
		return strings.Contains(w.tenant("acme-web").Annotations[tenantv1.AnnotationExtra], "gold")
	})
	w.quiet()
	w.ready("acme-web")
	if cm, _ := w.configMap("acme-settings"); cm.Data["plan"] != "a person's" {
		t.Errorf("it was written again: %v", cm.Data)
	}
}

func TestWhatIsToStayStays(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", policy("deletionPolicy: Retain"))
	w.ready("acme-web")
	cm, _ := w.configMap("acme-settings")
	if len(cm.OwnerReferences) != 0 || cm.Labels[tenantv1.LabelTenant] != "acme-web" {
		t.Fatalf("its marks are %v %v", cm.OwnerReferences, cm.Labels)
	}
	w.rows("acme,a,0,pro")
	w.eventually("the tenant is gone", func() bool { return w.names() == "" })
	cm, there := w.configMap("acme-settings")
	if !there || cm.DeletionTimestamp != nil || cm.Labels[tenantv1.LabelOrphaned] != "true" || cm.Labels[tenantv1.LabelTenant] != "" ||
		cm.Annotations[tenantv1.AnnotationOrphanedReason] != tenantv1.OrphanedTenantDeleted || cm.Annotations[tenantv1.AnnotationOrphanedAt] == "" {
		t.Fatalf("it is there: %v, and says %v %v", there, cm.Labels, cm.Annotations)
	}
	// The object returns with the row.
	uid := cm.UID
	w.rows("acme,a,1,gold")
	w.ready("acme-web")
	cm, _ = w.configMap("acme-settings")
	if cm.UID != uid || cm.Data["plan"] != "gold" || cm.Labels[tenantv1.LabelOrphaned] != "" || cm.Annotations[tenantv1.AnnotationOrphanedAt] != "" || cm.Labels[tenantv1.LabelTenant] != "acme-web" {
		t.Errorf("it says %v %v, and has %v", cm.Labels, cm.Annotations, cm.Data)
	}
}

func TestIgnoredFieldsAreLeftToOthers(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", `
configMaps:
- id: settings
  nameTemplate: "{{ .uid }}-settings"
  ignoreFields: ["$.data.size"]
  spec: {apiVersion: v1, kind: ConfigMap, data: {plan: "{{ .plan }}", size: "1"}}
`)
	w.ready("acme-web")
	update(w, &corev1.ConfigMap{}, "acme-settings", func(cm *corev1.ConfigMap) { cm.Data["size"] = "5" })
	w.rows("acme,a,1,gold")
	w.eventually("what is not ignored is as the row says", func() bool {
		cm, _ := w.configMap("acme-settings")
		return cm.Data["plan"] == "gold"
	})
	w.quiet()
	if cm, _ := w.configMap("acme-settings"); cm.Data["size"] != "5" {
		t.Errorf("the ignored field is %s", cm.Data["size"])
	}
}

func TestTheOtherWaysToWrite(t *testing.T) {
	for _, strategy := range []string{"merge", "replace"} {
		t.Run(strategy, func(t *testing.T) {
			w := newWorld(t)
			w.rows("acme,a,1,pro")
			w.registry(nil)
			w.template("web", policy("patchStrategy: "+strategy))
			w.ready("acme-web")
			update(w, &corev1.ConfigMap{}, "acme-settings", func(cm *corev1.ConfigMap) { cm.Data["more"] = "of somebody" })
			w.rows("acme,a,1,gold")
			w.eventually("the row counts", func() bool {
				cm, _ := w.configMap("acme-settings")
				return cm.Data["plan"] == "gold"
			})
			w.quiet()
			cm, _ := w.configMap("acme-settings")
			if stays := cm.Data["more"] != ""; stays != (strategy == "merge") {
				t.Errorf("it has %v", cm.Data)
			}
		})
	}
}

func TestWhatTheTemplateLosesGoesWhateverItsKind(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", stackAndSettings)
	w.eventually("the stack is there", func() bool { _, there := get(w, &infrav1.Terraform{}, "acme-infra"); return there })
	w.applied("acme-infra")
	w.ready("acme-web")
	w.template("web", oneConfigMap)
	w.eventually("the stack is gone", func() bool { _, there := get(w, &infrav1.Terraform{}, "acme-infra"); return !there })
	tenant := w.ready("acme-web")
	w.eventually("the inventory has lost it", func() bool { tenant = w.tenant("acme-web"); return len(tenant.Status.Inventory) == 1 })
	if cm, _ := w.configMap("acme-settings"); cm.Data["host"] != "a" {
		t.Errorf("the object that stays is %v", cm.Data)
	}
}

func TestAnObjectThatIsRefusedKeepsNoOtherOneWaiting(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro", "beta,b,1,bad value")
	w.registry(nil)
	w.template("web", `
configMaps:
- id: labelled
  nameTemplate: "{{ .uid }}-labelled"
  labelsTemplate: {plan: "{{ .plan }}"}
  spec: {apiVersion: v1, kind: ConfigMap}
- id: needs
  nameTemplate: "{{ .uid }}-needs"
  dependIds: [labelled]
  spec: {apiVersion: v1, kind: ConfigMap}
- id: alone
  nameTemplate: "{{ .uid }}-alone"
  spec: {apiVersion: v1, kind: ConfigMap}
`)
	w.ready("acme-web")
	w.eventually("the tenant says what has failed and what was left out", func() bool {
		s := w.tenant("beta-web").Status
		return s.FailedResources == 1 && s.SkippedResources == 1 && s.ReadyResources == 1 &&
			w.condition("beta-web", tenantv1.ConditionReady).Reason == tenantv1.ReasonResourcesFailed
	})
	if _, there := w.configMap("beta-alone"); !there {
		t.Error("an object without dependencies was not created")
	}
	if _, there := w.configMap("beta-needs"); there {
		t.Error("a dependant of a failed object was created")
	}
	w.rows("acme,a,1,pro", "beta,b,1,good")
	w.ready("beta-web")
}
