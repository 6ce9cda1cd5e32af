// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// templateOf is a template with lists as YAML.
func templateOf(t testing.TB, lists string) *tenantv1.TenantTemplate {
	t.Helper()
	out := &tenantv1.TenantTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "web"}}
	if err := yaml.UnmarshalStrict([]byte(lists), &out.Spec.Resources); err != nil {
		t.Fatalf("%v in\n%s", err, lists)
	}
	out.Spec.RegistryID = "customers"
	return out
}

// acme is a row with all sorts of values.
func acme() row.Row {
	return row.Row{UID: "acme", SafeUID: "acme", HostOrURL: "https://acme.example.org:8443/shop", Host: "acme.example.org", Activate: "1", Active: true,
		Extra: map[string]string{"replicas": "3", "zones": "a,b", "tier": "gold", "none": "", "hostile": "{{ .uid }}\n\"}: [x", "ns": "acme-apps"}}
}

// tenantOf is the Tenant of a row and a template, as the registry creates it.
func tenantOf(t testing.TB, template *tenantv1.TenantTemplate, r row.Row, a Allocator) *tenantv1.Tenant {
	t.Helper()
	spec, err := Tenant(template, r, a)
	if err != nil {
		t.Fatal(err)
	}
	return &tenantv1.Tenant{Spec: *spec, ObjectMeta: metav1.ObjectMeta{Namespace: template.Namespace, Name: row.TenantName(r.SafeUID, template.Name),
		Labels: map[string]string{tenantv1.LabelRegistry: template.Spec.RegistryID}, Annotations: Annotations(r)}}
}

// same compares a value with YAML, numbers by value.
func same(t testing.TB, got any, want string) {
	t.Helper()
	text, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(want), &b); err != nil {
		t.Fatalf("%v in\n%s", err, want)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Error(diff)
	}
}
