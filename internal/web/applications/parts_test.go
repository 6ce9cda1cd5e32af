// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package applications_test

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

// The page of an instance with several objects lists them, each with its page, its state and why.
func TestTheObjectsOfACompositionHaveLinks(t *testing.T) {
	s := newShop(t)
	template := func(text string) apiextensionsv1.JSON { return apiextensionsv1.JSON{Raw: []byte(text)} }
	s.offer(&appv1.ApplicationDefinition{ObjectMeta: metav1.ObjectMeta{Name: "store"}, Spec: appv1.ApplicationDefinitionSpec{
		Application: appv1.Application{Kind: "Store", Plural: "stores", Singular: "store", OpenAPISchema: `{"type":"object"}`},
		Backend: &appv1.Backend{Type: appv1.BackendComposition, Composition: &appv1.CompositionBackend{Prefix: "store-", Resources: []appv1.ComposedResource{
			{ID: "network", Template: template(`{"apiVersion":"infra.contrib.fluxcd.io/v1alpha2","kind":"Terraform","spec":{"inline":{"main.tf":""}}}`)},
			{ID: "notes", Template: template(`{"apiVersion":"v1","kind":"ConfigMap"}`)}}}}}})
	// store- and -network take 14 of 53 characters.
	code, text := s.ask("ada", "GET", "/applications/stores/new?namespace="+s.namespace)
	s.wants(code, text, 200, `maxlength="39"`)

	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	o.SetGroupVersionKind(appv1.InstanceVersion.WithKind("Store"))
	o.SetNamespace(s.namespace)
	o.SetName("shop")
	if err := s.admin.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	part := func(id, version, kind, name, state, message string) map[string]any {
		return map[string]any{"id": id, "apiVersion": version, "kind": kind, "name": name, "state": state, "message": message}
	}
	o.Object["status"] = map[string]any{"phase": "Failed", "resources": []any{
		part("network", "infra.contrib.fluxcd.io/v1alpha2", "Terraform", "store-shop-network", "Failed", "no <b>credentials</b>"),
		part("web", "helm.toolkit.fluxcd.io/v2", "HelmRelease", "store-shop-web", "Waiting", "It waits for: network"),
		part("files", appv1.InstanceVersion.String(), "Bucket", "store-shop-files", "Ready", ""),
		part("flux", "source.toolkit.fluxcd.io/v1", "Bucket", "store-shop-flux", "Ready", ""),
		part("notes", "v1", "ConfigMap", "store-shop-notes", "Ready", ""),
	}}
	if err := s.admin.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	code, text = s.ask("eve", "GET", "/applications/stores/"+s.namespace+"/shop")
	s.wants(code, text, 200, `<a href="/stacks/`+s.namespace+`/store-shop-network">Terraform store-shop-network</a>`, `<span class="state failed">Failed</span>`, "no &lt;b&gt;credentials",
		`<a href="/sources/helmrelease/`+s.namespace+`/store-shop-web">HelmRelease store-shop-web</a>`, `<span class="state waiting">Waiting</span>`,
		`<a href="/applications/buckets/`+s.namespace+`/store-shop-files">Bucket store-shop-files</a>`, `<span class="state ready">Ready</span>`, "ConfigMap store-shop-notes")
	if strings.Contains(text, "store-shop-flux</a>") || strings.Contains(text, "store-shop-notes</a>") {
		t.Error("objects without a page have a link")
	}
}
