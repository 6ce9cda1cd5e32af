// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// No field of these objects conflicts, but they would be deleted with the tenant.
func TestWhatWasThereBeforeIsNotTakenOverInSilence(t *testing.T) {
	w := newWorld(t)
	w.made("acme-settings", map[string]string{"own": "a person's"})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "acme", Annotations: map[string]string{"of": "a person"}}}
	w.must(w.c.Create(t.Context(), account, client.FieldOwner("another-person")))
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", `
serviceAccounts:
- id: account
  nameTemplate: "{{ .uid }}"
  spec: {apiVersion: v1, kind: ServiceAccount}
`+oneConfigMap)
	w.eventually("the tenant says who has them", func() bool {
		c := w.condition("acme-web", tenantv1.ConditionConflicted)
		return c.Status == metav1.ConditionTrue && strings.Contains(c.Message, "a-person") && strings.Contains(c.Message, "another-person")
	})
	w.rows("acme,a,0,pro")
	w.eventually("the tenant is gone", func() bool { return w.names() == "" })
	cm, there := w.configMap("acme-settings")
	if !there || len(cm.Labels)+len(cm.OwnerReferences) > 0 || len(cm.Data) != 1 {
		t.Errorf("the ConfigMap is there: %v, with %v", there, cm)
	}
	if now, there := get(w, &corev1.ServiceAccount{}, "acme"); !there || now.ResourceVersion != account.ResourceVersion {
		t.Error("the ServiceAccount was written or deleted")
	}
}

func TestForceTakesFromAnotherTenantAndOnce(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", policy("conflictPolicy: Force"))
	w.ready("acme-web")
	w.template("api", strings.ReplaceAll(policy("conflictPolicy: Force"), "{{ .plan }}", "of the api"))
	second := w.ready("acme-api")
	cm, _ := w.configMap("acme-settings")
	if len(cm.OwnerReferences) != 1 || cm.OwnerReferences[0].UID != second.UID || cm.Data["plan"] != "of the api" {
		t.Fatalf("it has %v of %v, not of %s", cm.Data, cm.OwnerReferences, second.UID)
	}
	w.eventually("who has lost it says so, and to whom", func() bool {
		c := w.condition("acme-web", tenantv1.ConditionConflicted)
		return c.Status == metav1.ConditionTrue && strings.Contains(c.Message, "acme-api")
	})
	w.quiet()
	if now, _ := w.configMap("acme-settings"); now.ResourceVersion != cm.ResourceVersion {
		t.Error("it was adopted again")
	}
	// The tenant that lost the object is deleted without it.
	w.must(w.c.Delete(t.Context(), &tenantv1.TenantTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}))
	w.eventually("the tenant is gone", func() bool { return w.names() == "acme-api" })
	if now, there := w.configMap("acme-settings"); !there || now.DeletionTimestamp != nil || now.OwnerReferences[0].UID != second.UID {
		t.Error("it was deleted with the tenant that lost it")
	}
}

func TestWhoWaitsForAnObjectGetsItWhenItIsFree(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", oneConfigMap)
	w.ready("acme-web")
	w.template("api", oneConfigMap)
	w.eventually("the second says who has it", func() bool {
		return strings.Contains(w.condition("acme-api", tenantv1.ConditionConflicted).Message, "acme-web")
	})
	w.must(w.c.Delete(t.Context(), &tenantv1.TenantTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}))
	second := w.ready("acme-api")
	if cm, _ := w.configMap("acme-settings"); len(cm.OwnerReferences) != 1 || cm.OwnerReferences[0].UID != second.UID {
		t.Errorf("it is of %v", cm.OwnerReferences)
	}
}

// Two writers without a pause would keep the server busy.
func TestAQuarrelIsNoHotLoop(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", oneConfigMap)
	w.ready("acme-web")
	w.quiet()
	mark := running.requests.mark()
	for range 60 {
		update(w, &corev1.ConfigMap{}, "acme-settings", func(cm *corev1.ConfigMap) { cm.Data["plan"] = "theirs" + time.Now().String() })
		time.Sleep(20 * time.Millisecond)
	}
	writes := 0
	for _, r := range running.requests.of(w.namespace, mark) {
		if strings.Contains(r, "/configmaps/") && !strings.HasPrefix(r, "GET") {
			writes++
		}
	}
	if writes > 10 {
		t.Errorf("of 60 changes %d were undone at once", writes)
	}
	w.eventually("in the end it is as the row says", func() bool {
		cm, _ := w.configMap("acme-settings")
		return cm.Data["plan"] == "pro"
	})
}

func TestWhatLosesItsMarksGetsThemBack(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", oneConfigMap)
	tenant := w.ready("acme-web")
	update(w, &corev1.ConfigMap{}, "acme-settings", func(cm *corev1.ConfigMap) { cm.OwnerReferences, cm.Labels = nil, nil })
	w.eventually("it says whose it is", func() bool {
		cm, _ := w.configMap("acme-settings")
		return len(cm.OwnerReferences) == 1 && cm.OwnerReferences[0].UID == tenant.UID && cm.Labels[tenantv1.LabelUID] == "acme"
	})
}

func TestWhatIsToStayFromNowOnLosesItsOwner(t *testing.T) {
	for _, strategy := range []string{"apply", "merge", "replace"} {
		for _, creation := range []string{"WhenNeeded", "Once"} {
			t.Run(strategy+" "+creation, func(t *testing.T) {
				w := newWorld(t)
				w.rows("acme,a,1,pro")
				w.registry(nil)
				w.template("web", policy("patchStrategy: "+strategy+"\n  creationPolicy: "+creation))
				w.ready("acme-web")
				if cm, _ := w.configMap("acme-settings"); len(cm.OwnerReferences) != 1 {
					t.Fatalf("its owners are %v", cm.OwnerReferences)
				}
				w.template("web", policy("patchStrategy: "+strategy+"\n  creationPolicy: "+creation+"\n  deletionPolicy: Retain"))
				w.eventually("the owner is gone, and labels say whose it is", func() bool {
					cm, _ := w.configMap("acme-settings")
					return len(cm.OwnerReferences) == 0 && cm.Labels[tenantv1.LabelTenant] == "acme-web"
				})
				w.ready("acme-web")
				w.rows("acme,a,0,pro")
				w.eventually("the tenant is gone", func() bool { return w.names() == "" })
				if cm, there := w.configMap("acme-settings"); !there || cm.Labels[tenantv1.LabelOrphaned] != "true" {
					t.Errorf("it is there: %v, with %v", there, cm.Labels)
				}
			})
		}
	}
}
