// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// tenants reads the objects that say everything: a registry, a template and a tenant.
func tenants(t *testing.T, namespace string) (registry *tenantv1.TenantRegistry, template *tenantv1.TenantTemplate, tenant *tenantv1.Tenant) {
	t.Helper()
	data, err := os.ReadFile("testdata/tenants.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := bytes.Split(data, []byte("\n---\n"))
	if len(documents) != 3 {
		t.Fatalf("there are %d documents", len(documents))
	}
	registry, template, tenant = &tenantv1.TenantRegistry{}, &tenantv1.TenantTemplate{}, &tenantv1.Tenant{}
	for i, object := range []client.Object{registry, template, tenant} {
		if err := yaml.UnmarshalStrict(documents[i], object); err != nil {
			t.Fatal(err)
		}
		object.SetNamespace(namespace)
	}
	return registry, template, tenant
}

func TestTheAPIKeepsEveryFieldOfTenants(t *testing.T) {
	namespace, c := apitest.Namespace(t), apitest.Client(t)
	registry, template, tenant := tenants(t, namespace)
	wantRegistry, wantTemplate, wantTenant := registry.DeepCopy(), template.DeepCopy(), tenant.DeepCopy()
	for _, object := range []client.Object{registry, template, tenant} {
		if err := c.Create(t.Context(), object, client.FieldValidation("Strict")); err != nil {
			t.Fatal(err)
		}
	}
	registry.Status, template.Status, tenant.Status = wantRegistry.Status, wantTemplate.Status, wantTenant.Status
	for _, object := range []client.Object{registry, template, tenant} {
		if err := c.Status().Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
	}
	for name, pair := range map[string][2]any{
		"spec of the registry":   {&wantRegistry.Spec, &registry.Spec},
		"status of the registry": {&wantRegistry.Status, &registry.Status},
		"spec of the template":   {&wantTemplate.Spec, &template.Spec},
		"status of the template": {&wantTemplate.Status, &template.Status},
		"spec of the tenant":     {&wantTenant.Spec, &tenant.Spec},
		"status of the tenant":   {&wantTenant.Status, &tenant.Status},
	} {
		if diff := cmp.Diff(asYAML(t, pair[0]), asYAML(t, pair[1])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for kind, want := range map[string]string{
		"tenantregistry": "NAME DESIRED READY FAILED STATUS AGE\nshop 4 3 1 True AGE\n",
		"tenanttemplate": "NAME REGISTRY TOTAL READY APPLIED AGE\nweb shop 4 3 False AGE\n",
		"tenant":         "NAME TEMPLATE READY DESIRED CONFLICTED CONDITIONS AGE\nacme-web web 1 1 NotAllResourcesReady AGE\n",
	} {
		printed := regexp.MustCompile(` +`).ReplaceAllString(kubectl(t, namespace, "get", kind), " ")
		if diff := cmp.Diff(want, regexp.MustCompile(`\d+m?s`).ReplaceAllString(printed, "AGE")); diff != "" {
			t.Errorf("kubectl get %s (-want +got):\n%s", kind, diff)
		}
	}
}

// One template that cannot be decoded would keep every reader of the list from reading any of them.
func TestATemplateOfAnyManifestsCanBeRead(t *testing.T) {
	namespace, c := apitest.Namespace(t), apitest.Client(t)
	odd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: odd}
spec:
  registryId: shop
  deployments: [{id: a, spec: {spec: {replicas: 3}}}]
  manifests: [{id: b, spec: {}}, {id: c, spec: {kind: List, items: [1]}}, {id: d, spec: {kind: 7, apiVersion: [x]}}]
`), &odd.Object); err != nil {
		t.Fatal(err)
	}
	odd.SetNamespace(namespace)
	if err := c.Create(t.Context(), odd); err != nil {
		t.Fatal(err)
	}
	var list tenantv1.TenantTemplateList
	if err := c.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 {
		t.Fatalf("there are %d templates", len(list.Items))
	}
	spec := list.Items[0].Spec
	if diff := cmp.Diff(map[string]any{"spec": map[string]any{"replicas": int64(3)}}, spec.Deployments[0].Spec.Object); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	if len(spec.Manifests) != 3 || spec.Manifests[2].TimeoutSeconds != 300 {
		t.Errorf("manifests are %+v", spec.Manifests)
	}
	// It can be written back as it is, too.
	if err := c.Update(t.Context(), &list.Items[0]); err != nil {
		t.Error(err)
	}
}

func TestTheRegistryOfATemplateStays(t *testing.T) {
	c := apitest.Client(t)
	_, template, _ := tenants(t, apitest.Namespace(t))
	if err := c.Create(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	template.Spec.RegistryID = "other"
	if err := c.Update(t.Context(), template); err == nil {
		t.Error("it was changed")
	}
}
