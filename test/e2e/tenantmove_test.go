// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/testkit/tenanttest"
)

// The objects that the Tenant Operator creates for a row: a Tenant, owned by the registry, and an
// object, owned by the Tenant.
const publishedTenant = `
apiVersion: operator.kubernetes-tenants.org/v1
kind: Tenant
metadata:
  name: acme-web
  namespace: shops
  labels: {kubernetes-tenants.org/registry: customers, kubernetes-tenants.org/uid: acme}
  annotations: {kubernetes-tenants.org/hostOrUrl: acme.example.com, kubernetes-tenants.org/activate: "1", kubernetes-tenants.org/extra: '{"plan":"pro"}', kubernetes-tenants.org/template-generation: "1"}
  finalizers: [tenant.operator.kubernetes-tenants.org/finalizer]
spec:
  uid: acme
  templateRef: web
  configMaps:
  - {id: settings, nameTemplate: acme-settings, spec: {apiVersion: v1, kind: ConfigMap, data: {plan: "{{ .plan }}", host: "{{ .host }}"}}}
status:
  observedGeneration: 1
  readyResources: 1
  desiredResources: 1
  appliedResources: [ConfigMap/shops/acme-settings@settings]
`

// As described on the page "From Tenant Operator to Yuba": while that operator is running, Yuba
// touches nothing. Afterwards, everything continues unchanged.
func TestWhatTheTenantOperatorLeftGoesOn(t *testing.T) {
	const ns = "shops"
	y := startLegacy(t, ns)
	h := &tenanttest.Home{Client: y.client, Namespace: ns, Log: y.logTail}
	rows := configMap(ns, "rows", map[string]string{"rows.csv": "id,url,active,plan\nacme,acme.example.com,1,pro\nglobex,globex.example.com,1,free\n"})
	y.create(t, rows)
	h.Apply(t, tenanttest.Registry("customers", "    type: configMap\n    syncInterval: 1s\n    configMap: {name: rows, key: rows.csv}"))
	h.Apply(t, settingsTemplate)
	var registry tenantv1.TenantRegistry
	h.Get(t, "customers", &registry)
	var acme tenantv1.Tenant
	if err := yaml.Unmarshal([]byte(publishedTenant), &acme); err != nil {
		t.Fatal(err)
	}
	status := acme.Status
	acme.OwnerReferences = []metav1.OwnerReference{{APIVersion: tenantv1.GroupVersion.String(), Kind: tenantv1.TenantRegistryKind, Name: "customers", UID: registry.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}}
	y.create(t, &acme)
	acme.Status = status
	if err := y.client.Status().Update(t.Context(), &acme); err != nil {
		t.Fatal(err)
	}
	theirs := configMap(ns, "acme-settings", map[string]string{"plan": "pro", "host": "acme.example.com"})
	theirs.OwnerReferences = []metav1.OwnerReference{{APIVersion: tenantv1.GroupVersion.String(), Kind: tenantv1.TenantKind, Name: acme.Name, UID: acme.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}}
	if err := y.client.Create(t.Context(), theirs, client.FieldOwner("tenant-operator")); err != nil {
		t.Fatal(err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "f2130106.kubernetes-tenants.org"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("pod-1"), LeaseDurationSeconds: ptr.To(int32(600)), RenewTime: ptr.To(metav1.NewMicroTime(time.Now()))}}
	y.create(t, lease)

	y.control(t)
	y.eventuallyLogs(t, "tenants are not reconciled: a Tenant Operator is running on this API (pod-1")
	if err := y.terminate(); err != nil {
		t.Fatal(err)
	}
	var now tenantv1.Tenant
	h.Get(t, "acme-web", &now)
	if now.ResourceVersion != acme.ResourceVersion || !h.Missing(t, "globex-web", &tenantv1.Tenant{}) {
		t.Error("tenants of a living Tenant Operator were worked on")
	}
	if err := y.client.Delete(t.Context(), lease); err != nil {
		t.Fatal(err)
	}

	y.control(t)
	h.AwaitReady(t, "globex-web")
	ready := h.AwaitReady(t, "acme-web")
	var settings corev1.ConfigMap
	h.Get(t, "acme-settings", &settings)
	if ready.UID != acme.UID || settings.UID != theirs.UID || settings.DeletionTimestamp != nil {
		t.Errorf("they were made anew: the tenant %s is %s, its object %s is %s", acme.UID, ready.UID, theirs.UID, settings.UID)
	}
	if len(ready.OwnerReferences) > 0 {
		t.Errorf("whoever deletes the registry deletes the tenant: %v", ready.OwnerReferences)
	}
	if err := y.client.Patch(t.Context(), rows, client.RawPatch(types.MergePatchType, []byte(`{"data":{"rows.csv":"id,url,active,plan\nglobex,globex.example.com,1,free\n"}}`))); err != nil {
		t.Fatal(err)
	}
	h.AwaitGone(t, "acme-web", &tenantv1.Tenant{})
	h.AwaitGone(t, "acme-settings", &corev1.ConfigMap{})
}

// eventuallyLogs waits until the server's log contains some words.
func (y *yuba) eventuallyLogs(t *testing.T, words string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(y.logText(), words); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the log has not %q:\n%s", words, y.logTail())
		}
	}
}
