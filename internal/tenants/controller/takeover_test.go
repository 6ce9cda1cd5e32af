// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// Tenant Operator made the registry the owner of its tenants, so the garbage collector would delete
// them. Removing that needs neither a valid template nor readable rows.
func TestNoTenantIsItsRegistrys(t *testing.T) {
	w := newWorld(t)
	w.template("web", "deployments: [{id: app, nameTemplate: '{{ .uid }}-app', spec: {spec: {replicas: 1}}}]")
	w.registry(nil) // its table does not exist
	reg := &tenantv1.TenantRegistry{}
	update(w, reg, "customers", func(o *tenantv1.TenantRegistry) { o.Finalizers = []string{tenantv1.PublishedRegistryFinalizer} })
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "of-somebody"}}
	w.must(w.c.Create(t.Context(), other))
	refs := []metav1.OwnerReference{
		{APIVersion: tenantv1.GroupVersion.String(), Kind: tenantv1.TenantRegistryKind, Name: reg.Name, UID: reg.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)},
		{APIVersion: "v1", Kind: "ConfigMap", Name: other.Name, UID: other.UID}}
	for _, uid := range []string{"acme", "beta"} {
		w.must(w.c.Create(t.Context(), &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "tenant-" + uid, OwnerReferences: refs, Finalizers: []string{tenantv1.Finalizer},
			Labels: map[string]string{tenantv1.LabelRegistry: "customers", tenantv1.LabelUID: uid}}, Spec: tenantv1.TenantSpec{UID: uid, TemplateRef: "web"}}))
	}
	for _, name := range []string{"tenant-acme", "tenant-beta"} {
		w.eventually(name+" is the registry's no longer", func() bool {
			refs := w.tenant(name).OwnerReferences
			return len(refs) == 1 && refs[0].Kind == "ConfigMap"
		})
	}
	w.must(w.c.Delete(t.Context(), reg))
	w.eventually("the registry is gone", func() bool { _, there := get(w, &tenantv1.TenantRegistry{}, "customers"); return !there })
	w.quiet()
	if w.names() != "tenant-acme tenant-beta" {
		t.Errorf("there are %s", w.names())
	}
}

// A template that was deleted by mistake can be created again, and keeps its tenants.
func TestATemplateThatIsMadeAgainKeepsItsTenants(t *testing.T) {
	w := newWorld(t)
	w.rows(lines(3)...)
	w.registry(nil)
	w.template("web", oneConfigMap)
	var before []string
	for _, name := range []string{"t00-web", "t01-web", "t02-web"} {
		before = append(before, string(w.ready(name).UID))
	}
	w.eventually("the template knows", func() bool { return w.appliedOf("web").Reason == tenantv1.ReasonAllTenantsReady })
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}
	w.must(w.c.Delete(t.Context(), &tenantv1.TenantTemplate{ObjectMeta: meta}))
	w.eventually("it says how to keep them", func() bool { return w.appliedOf("web").Reason == tenantv1.ReasonTemplateDeleting })
	w.must(w.c.Patch(t.Context(), &tenantv1.TenantTemplate{ObjectMeta: meta}, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	w.eventually("it is gone", func() bool {
		return apierrors.IsNotFound(w.c.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "web"}, &tenantv1.TenantTemplate{}))
	})
	w.quiet()
	w.template("web", oneConfigMap)
	w.eventually("nothing is held any more", func() bool {
		reg, _ := get(w, &tenantv1.TenantRegistry{}, "customers")
		return reg.Status.Held == nil && w.appliedOf("web").Reason == tenantv1.ReasonAllTenantsReady
	})
	for i, name := range []string{"t00-web", "t01-web", "t02-web"} {
		if now := w.ready(name); string(now.UID) != before[i] {
			t.Errorf("%s is another tenant", name)
		}
	}
}
