// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	tenantctl "github.com/yuba-dev/yuba/internal/tenants/tenant"
)

// space is a template with a namespace and two ConfigMaps in it, one of them retained.
const space = `
namespaces:
- id: space
  nameTemplate: "NAMESPACE-{{ .uid }}"
  spec: {metadata: {labels: {team: a}}}
configMaps:
- id: kept
  nameTemplate: kept
  targetNamespace: "NAMESPACE-{{ .uid }}"
  deletionPolicy: Retain
  spec: {data: {plan: "{{ .plan }}"}}
- id: other
  nameTemplate: other
  targetNamespace: "NAMESPACE-{{ .uid }}"
  spec: {data: {plan: "{{ .plan }}"}}
`

// space creates a tenant of that template, and returns its namespace.
func (w *testWorld) space() string {
	w.t.Helper()
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", space)
	w.ready("acme-web")
	name := w.namespace + "-acme"
	w.t.Cleanup(func() {
		err := w.c.Delete(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if client.IgnoreNotFound(err) != nil {
			w.t.Log(err)
		}
	})
	return name
}

// in reads a ConfigMap of a namespace; false if it does not exist.
func (w *testWorld) in(namespace, name string) (*corev1.ConfigMap, bool) {
	w.t.Helper()
	other := *w
	other.namespace = namespace
	return other.configMap(name)
}

// staying reads a namespace that exists and is not being deleted.
func (w *testWorld) staying(name string) (*corev1.Namespace, bool) {
	w.t.Helper()
	other := *w
	other.namespace = ""
	namespace, there := get(&other, &corev1.Namespace{}, name)
	return namespace, there && namespace.DeletionTimestamp == nil
}

func TestWhatIsToStayKeepsItsNamespace(t *testing.T) {
	w := newWorld(t)
	namespace := w.space()
	w.rows("acme,a,0,pro")
	w.eventually("the tenant is gone", func() bool { return w.names() == "" })
	o, stays := w.staying(namespace)
	if !stays || o.Labels[tenantv1.LabelOrphaned] != tenantv1.ValueTrue || o.Labels[tenantv1.LabelTenant] != "" {
		t.Errorf("the namespace stays: %t, with %v", stays, o.Labels)
	}
	if cm, there := w.in(namespace, "kept"); !there || cm.DeletionTimestamp != nil || cm.Labels[tenantv1.LabelOrphaned] != tenantv1.ValueTrue {
		t.Errorf("the retained object exists: %t, with %v", there, cm.Labels)
	}
	if _, there := w.in(namespace, "other"); there {
		t.Error("the other object exists")
	}
	// Both belong to the tenant again when its row is back.
	w.rows("acme,a,1,gold")
	w.ready("acme-web")
	o, _ = w.staying(namespace)
	if cm, _ := w.in(namespace, "kept"); cm.Data["plan"] != "gold" || cm.Labels[tenantv1.LabelOrphaned] != "" || o.Labels[tenantv1.LabelOrphaned] != "" {
		t.Errorf("there is %v with %v, in a namespace with %v", cm.Data, cm.Labels, o.Labels)
	}
}

func TestANamespaceStaysAsLongAsObjectsAreMadeInIt(t *testing.T) {
	w := newWorld(t)
	namespace := w.space()
	_, objects, _ := strings.Cut(space, "configMaps:")
	w.template("web", "configMaps:"+objects)
	w.eventually("the tenant says why it stays", func() bool { return waits(w.tenant("acme-web"), "space", tenantctl.WaitLeaving) })
	w.quiet()
	if _, stays := w.staying(namespace); !stays {
		t.Fatal("the namespace is deleted with objects of the template")
	}
	w.template("web", strings.ReplaceAll(oneConfigMap, "settings", "rest"))
	w.eventually("what is to stay is left behind, with its namespace", func() bool {
		o, stays := w.staying(namespace)
		_, other := w.in(namespace, "other")
		return stays && o.Labels[tenantv1.LabelOrphaned] == tenantv1.ValueTrue && !other && len(w.tenant("acme-web").Status.Inventory) == 1
	})
}
