// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// dead is a server that accepts and counts connections, and never answers.
func dead(t *testing.T) (address string, asked *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	asked = &atomic.Int32{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			go io.Copy(io.Discard, c) //nolint:errcheck // until the client hangs up
		}
	}()
	return l.Addr().String(), asked
}

// Detecting an unreachable cluster may take long. One object suffices, and the tenant reports what
// to do.
func TestADeadClusterIsNotAskedForEachObject(t *testing.T) {
	w := newWorld(t)
	address, asked := dead(t)
	w.must(w.c.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "dead"}, Data: map[string][]byte{
		"value": fmt.Appendf(nil, "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
			"clusters: [{name: c, cluster: {server: 'https://%s', certificate-authority-data: %s}}]\nusers: [{name: u, user: {token: t}}]",
			address, base64.StdEncoding.EncodeToString(w.r.Config.CAData))}}))
	tenant := &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "acme-web", Finalizers: []string{tenantv1.Finalizer}},
		Spec: tenantv1.TenantSpec{UID: "acme", TemplateRef: "web", KubeConfig: &fluxmeta.KubeConfigReference{SecretRef: &fluxmeta.SecretKeyReference{Name: "dead"}}}}
	w.must(w.c.Create(t.Context(), tenant))
	w.eventually("it is on record", func() bool { return w.tenant("acme-web").Status.ObservedGeneration == 1 })
	update := func(change func(*tenantv1.Tenant)) {
		now := w.tenant("acme-web")
		before := now.DeepCopy()
		change(now)
		w.must(w.c.Status().Patch(t.Context(), now, client.MergeFrom(before)))
	}
	update(func(now *tenantv1.Tenant) {
		for i := range 20 {
			now.Status.Inventory = append(now.Status.Inventory, tenantv1.AppliedResource{ID: fmt.Sprint("o", i), APIVersion: fmt.Sprintf("g%d.example.com/v1", i), Kind: "Gadget",
				Namespace: w.namespace, Name: "x", UID: "u", Cluster: tenantv1.ClusterTarget, KubeConfig: "dead"})
		}
	})
	w.eventually("the cache has heard of it", func() bool {
		cached := &tenantv1.Tenant{}
		return w.r.tenants.Cached.Get(t.Context(), client.ObjectKeyFromObject(tenant), cached) == nil && len(cached.Status.Inventory) == 20
	})
	before := asked.Load()
	w.must(w.c.Delete(t.Context(), tenant))
	w.eventually("it says what can be done", func() bool {
		return strings.Contains(w.condition("acme-web", tenantv1.ConditionReady).Message, "kubectl patch tenant acme-web -n "+w.namespace)
	})
	if n := asked.Load() - before; n > 10 {
		t.Errorf("it was asked %d times", n)
	}
	if s := w.tenant("acme-web").Status; len(s.Inventory) != 20 || len(s.Waiting) != 20 {
		t.Errorf("%d are on record, %d wait", len(s.Inventory), len(s.Waiting))
	}
	w.must(w.c.Patch(t.Context(), &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "acme-web"}},
		client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	w.eventually("it is gone", func() bool { return w.names() == "" })
}

// A kind may be installed after its template. It is served without waiting for the next check.
func TestAKindThatComesLaterIsServedAtOnce(t *testing.T) {
	w := newWorld(t)
	group := w.namespace + ".example.com"
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", strings.ReplaceAll(`
manifests:
- id: gadget
  nameTemplate: "{{ .uid }}"
  spec: {apiVersion: GROUP/v1, kind: Gadget}
`, "GROUP", group))
	w.eventually("the template says that nobody serves it", func() bool {
		tpl, _ := get(w, &tenantv1.TenantTemplate{}, "web")
		return apimeta.IsStatusConditionFalse(tpl.Status.Conditions, tenantv1.ConditionValid)
	})
	w.quiet()
	checked := time.Now()
	object := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object"}}}
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "gadgets." + group}, Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: group, Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &object}}}}}
	w.must(w.c.Create(t.Context(), definition))
	gadget := &unstructured.Unstructured{}
	gadget.SetAPIVersion(group + "/v1")
	gadget.SetKind("Gadget")
	w.eventually("it is made", func() bool {
		return w.c.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "acme"}, gadget) == nil
	})
	w.ready("acme-web")
	if took := time.Since(checked); took > 50*time.Second {
		t.Errorf("it took %s, after which a template with mistakes is checked anyway", took)
	}
}
