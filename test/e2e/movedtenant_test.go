// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/testkit/tenanttest"
)

// Objects of a tenant that has moved have its owner reference, and some of their kinds do not move.
func TestDeletingAMovedTenantKeepsItsObjects(t *testing.T) {
	m := newMovers(t)
	const ns = "team"
	m.a.create(t, namespaceObject(ns))
	m.a.create(t, configMap(ns, "rows", map[string]string{"rows.csv": "id,url,active,plan\nacme,acme.example.com,1,pro\n"}))
	h := &tenanttest.Home{Client: m.a.client, Namespace: ns, Log: m.a.logTail}
	h.Apply(t, tenanttest.Registry("customers", "    type: configMap\n    syncInterval: 1s\n    configMap: {name: rows, key: rows.csv}"))
	h.Apply(t, settingsTemplate)
	h.AwaitReady(t, "acme-web")
	tenant := &tenantv1.Tenant{}
	h.Get(t, "acme-web", tenant)

	move(t, m.a, m.b, "-n", ns)
	// The garbage collector deletes this one.
	sentinel := configMap(ns, "sentinel", nil)
	sentinel.OwnerReferences = []metav1.OwnerReference{{APIVersion: tenantv1.GroupVersion.String(), Kind: tenantv1.TenantKind, Name: tenant.Name, UID: tenant.UID}}
	m.a.create(t, sentinel)
	m.a.delete(t, tenant)
	m.a.eventually(t, "the tenant and the sentinel are gone", func() string {
		for _, o := range []client.Object{tenant.DeepCopy(), sentinel.DeepCopy()} {
			if err := m.a.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
				return o.GetName() + " is still there"
			}
		}
		return ""
	})
	var settings corev1.ConfigMap
	if err := m.a.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "acme-settings"}, &settings); err != nil {
		t.Fatalf("the object of the tenant: %v", err)
	}
	if len(settings.OwnerReferences) > 0 || settings.DeletionTimestamp != nil || settings.Labels[tenantv1.LabelOrphaned] != tenantv1.ValueTrue {
		t.Errorf("the object of the tenant is %+v", settings.ObjectMeta)
	}
	(&tenanttest.Home{Client: m.b.client, Namespace: ns, Log: m.b.logTail}).AwaitReady(t, "acme-web")
}
