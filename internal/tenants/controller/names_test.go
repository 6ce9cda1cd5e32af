// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// Names of objects may be four times as long as label values.
func TestARegistryWithALongName(t *testing.T) {
	w := newWorld(t)
	name := strings.Repeat("customers-of-the-company.", 8) + "de"
	w.rows("acme,a,1,pro")
	made := func(o metav1.ObjectMeta) metav1.ObjectMeta {
		o.Namespace = w.namespace
		return o
	}
	w.must(w.c.Create(t.Context(), &tenantv1.TenantRegistry{ObjectMeta: made(metav1.ObjectMeta{Name: name}), Spec: tenantv1.TenantRegistrySpec{
		Source:        tenantv1.DataSource{Type: tenantv1.SourceConfigMap, SyncInterval: "1h", ConfigMap: &tenantv1.ConfigMapSource{Name: "table", Key: "rows.csv"}},
		ValueMappings: tenantv1.ValueMappings{UID: "id", Activate: "active"},
	}}))
	template := &tenantv1.TenantTemplate{ObjectMeta: made(metav1.ObjectMeta{Name: "web"}), Spec: tenantv1.TenantTemplateSpec{RegistryID: name}}
	settings := tenantv1.TResource{ID: "settings", NameTemplate: "{{ .uid }}-settings"}
	settings.Spec.Object = map[string]any{"data": map[string]any{"registry": "{{ .registryId }}"}}
	template.Spec.ConfigMaps = []tenantv1.TResource{settings}
	w.must(w.c.Create(t.Context(), template))
	tenant := w.ready("acme-web")
	if label := tenant.Labels[tenantv1.LabelRegistry]; label != row.RegistryLabel(name) || tenant.Registry() != name {
		t.Errorf("its registry is %s, and %s by the label", tenant.Registry(), label)
	}
	if cm, _ := w.configMap("acme-settings"); cm.Data["registry"] != name {
		t.Errorf("its template knows the registry as %q", cm.Data["registry"])
	}
	w.rows("acme,a,0,pro")
	w.eventually("it goes with its row", func() bool { return w.count() == 0 })
	reg, _ := get(w, &tenantv1.TenantRegistry{}, name)
	if reg.Status.Desired != 0 || !apimeta.IsStatusConditionTrue(reg.Status.Conditions, tenantv1.ConditionReady) {
		t.Errorf("the registry says %+v", reg.Status)
	}
}
