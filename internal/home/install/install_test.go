// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package install_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/yuba-dev/yuba/internal/home/install"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// kind is a CRD of the group <plural>.example.com with one more property.
func kind(plural, property string) string {
	return fmt.Sprintf(`# A comment before the document.
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[1]s.%[1]s.example.com
spec:
  group: %[1]s.example.com
  scope: Namespaced
  names: {plural: %[1]s, singular: %[2]s, kind: %[3]s, listKind: %[3]sList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          %[4]s: {type: string}
`, plural, strings.TrimSuffix(plural, "s"), strings.ToUpper(plural[:1])+strings.TrimSuffix(plural[1:], "s"), property)
}

func file(content string) fstest.MapFS {
	return fstest.MapFS{"kind.yaml": {Data: []byte(content)}, "embed.go": {Data: []byte("package crd")}}
}

func get(t *testing.T, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := apitest.Client(t).Get(t.Context(), client.ObjectKey{Name: name}, crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

func mustInstall(t *testing.T, content string) {
	t.Helper()
	if err := install.Kinds(t.Context(), apitest.API(t).RESTConfig(), file(content)); err != nil {
		t.Fatal(err)
	}
}

func TestInstalledKindIsServedAtOnce(t *testing.T) {
	mustInstall(t, kind("apples", "colour"))
	apple := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apples.example.com/v1", "kind": "Apple", "colour": "red",
		"metadata": map[string]any{"name": "one", "namespace": "default"}}}
	if err := apitest.Client(t).Create(t.Context(), apple); err != nil {
		t.Error(err)
	}
}

func TestUnchangedKindIsLeftAlone(t *testing.T) {
	mustInstall(t, kind("pears", "colour"))
	before := get(t, "pears.pears.example.com")
	mustInstall(t, kind("pears", "colour"))
	if after := get(t, before.Name); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("installing again changed version %s to %s", before.ResourceVersion, after.ResourceVersion)
	}
}

func TestChangedKindIsUpgradedAndKeepsWhatOthersAdded(t *testing.T) {
	mustInstall(t, kind("plums", "colour"))
	crd := get(t, "plums.plums.example.com")
	labelled := crd.DeepCopy()
	labelled.Labels = map[string]string{"team": "orchard"}
	if err := apitest.Client(t).Patch(t.Context(), labelled, client.MergeFrom(crd)); err != nil {
		t.Fatal(err)
	}
	mustInstall(t, kind("plums", "size"))
	crd = get(t, crd.Name)
	properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	if _, ok := properties["size"]; !ok || len(properties) != 1 {
		t.Errorf("properties %v after the upgrade, want size alone", properties)
	}
	if crd.Labels["team"] != "orchard" {
		t.Errorf("labels %v: somebody else's is gone", crd.Labels)
	}
}

func TestKindsRefuses(t *testing.T) {
	for sentence, test := range map[string]struct{ content, want string }{
		"something that is no kind": {"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n", "only kinds can be installed"},
		"something that is no YAML": {"a: b: c", "read a kind to install"},
		"a kind that the API does not accept": {
			strings.Replace(kind("nuts", "colour"), "type: string", "type: colour", 1), "install kind nuts.nuts.example.com"},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := install.Kinds(t.Context(), apitest.API(t).RESTConfig(), file(test.content))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
}

func TestRolesAreAppliedAgainWhenSomebodyChangedThem(t *testing.T) {
	role := &rbacv1.ClusterRole{}
	key := client.ObjectKey{Name: "yuba:aggregate-to-view"}
	if err := apitest.Client(t).Get(t.Context(), key, role); err != nil {
		t.Fatal(err)
	}
	want := len(role.Rules)
	role.Rules = nil
	if err := apitest.Client(t).Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	if err := install.Roles(t.Context(), apitest.API(t).RESTConfig()); err != nil {
		t.Fatal(err)
	}
	if err := apitest.Client(t).Get(t.Context(), key, role); err != nil {
		t.Fatal(err)
	}
	if len(role.Rules) != want {
		t.Errorf("%d rules, want %d", len(role.Rules), want)
	}
}
