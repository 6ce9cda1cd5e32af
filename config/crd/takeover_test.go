// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/config/crd"
	"github.com/yuba-dev/yuba/internal/home/install"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// takeoverGroup stands for infra.contrib.fluxcd.io, which this API has as Yuba's own from the start.
const takeoverGroup = "infra.takeover.example.org"

// An API where tofu-controller has run has its definition, objects that are stored in both versions, and a status that
// says so. Yuba's definition is applied over it.
func TestYubasDefinitionTakesThePlaceOfTofuControllers(t *testing.T) {
	namespace, c := apitest.Namespace(t), apitest.Client(t)
	theirs := installTheirs(t, c)
	oldest := stored(t, c, namespace, "oldest", "v1alpha1")
	storeV1alpha2(t, c, theirs)
	newer := stored(t, c, namespace, "newer", "v1alpha2")

	if err := install.Kinds(t.Context(), apitest.API(t).RESTConfig(), oursInTheirGroup(t)); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v1alpha1", "v1alpha2"}, theirs.Status.StoredVersions); diff != "" {
		t.Errorf("stored versions (-want +got):\n%s", diff)
	}
	if !slices.ContainsFunc(theirs.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		_, inline := v.Schema.OpenAPIV3Schema.Properties["spec"].Properties["inline"]
		return v.Name == "v1alpha2" && v.Storage && inline
	}) {
		t.Errorf("the definition is not Yuba's")
	}

	for _, before := range []*unstructured.Unstructured{oldest, newer} {
		t.Run(before.GetName(), func(t *testing.T) { goesOn(t, c, before) })
	}
}

// goesOn checks that an object of before is what it was, in both versions, and can be worked on.
func goesOn(t *testing.T, c client.Client, before *unstructured.Unstructured) {
	key := client.ObjectKeyFromObject(before)
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		got := terraformOf(version)
		if err := c.Get(t.Context(), key, got); err != nil {
			t.Fatal(err)
		}
		spec := got.Object["spec"].(map[string]any)
		for name, value := range before.Object["spec"].(map[string]any) {
			if diff := cmp.Diff(value, spec[name]); diff != "" {
				t.Errorf("spec.%s in %s (-before +now):\n%s", name, version, diff)
			}
		}
		if diff := cmp.Diff(before.Object["status"], got.Object["status"]); diff != "" {
			t.Errorf("status in %s (-before +now):\n%s", version, diff)
		}
		if got.GetUID() != before.GetUID() || got.GetGeneration() != before.GetGeneration() {
			t.Errorf("it is %s of generation %d, was %s of %d", got.GetUID(), got.GetGeneration(), before.GetUID(), before.GetGeneration())
		}
	}
	now := terraformOf("v1alpha2")
	if err := c.Get(t.Context(), key, now); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(now.Object, "6h", "spec", "driftDetectionInterval"); err != nil {
		t.Fatal(err)
	}
	if err := c.Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(now.Object, "+1 ~0 -0", "status", "plan", "summary"); err != nil {
		t.Fatal(err)
	}
	if err := c.Status().Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	summary, _, _ := unstructured.NestedString(now.Object, "status", "plan", "summary")
	drift, _, _ := unstructured.NestedString(now.Object, "spec", "driftDetectionInterval")
	if summary != "+1 ~0 -0" || drift != "6h" {
		t.Errorf("what only Yuba's definition has is not kept: %q, %q", summary, drift)
	}
}

func terraformOf(version string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(takeoverGroup + "/" + version)
	object.SetKind("Terraform")
	return object
}

// installTheirs makes the definition that tofu-controller has and waits until it is served.
func installTheirs(t *testing.T, c client.Client) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	data, err := os.ReadFile("testdata/tofu-controller.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(string(data), "GROUP", takeoverGroup)), definition); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), definition, client.FieldOwner("helm")); err != nil {
		t.Fatal(err)
	}
	return definition
}

// storeV1alpha2 makes v1alpha2 the stored version, as tofu-controller's upgrade did, and waits until the status has it.
func storeV1alpha2(t *testing.T, c client.Client, definition *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	eventually(t, "v1alpha2 is a stored version", func() bool {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(definition.Status.StoredVersions, "v1alpha2") {
			return true
		}
		definition.Spec.Versions[0].Storage, definition.Spec.Versions[1].Storage = false, true
		// A conflict with the status that the API server writes is tried again.
		_ = c.Update(t.Context(), definition, client.FieldOwner("helm"))
		return false
	})
}

// stored makes an object in a version, with a status.
func stored(t *testing.T, c client.Client, namespace, name, version string) *unstructured.Unstructured {
	t.Helper()
	object := terraformOf(version)
	object.SetNamespace(namespace)
	object.SetName(name)
	object.Object["spec"] = map[string]any{
		"interval": "10m", "approvePlan": "auto", "path": "./infra",
		"sourceRef": map[string]any{"kind": "GitRepository", "name": "code"},
		"vars":      []any{map[string]any{"name": "size", "value": int64(3)}},
	}
	eventually(t, "the kind is served", func() bool {
		err := c.Create(t.Context(), object)
		if err != nil && !meta.IsNoMatchError(err) && client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return err == nil
	})
	object.Object["status"] = map[string]any{
		"observedGeneration": int64(1), "lastAppliedRevision": "main@sha1:1a2b", "plan": map[string]any{"pending": "plan-main-1a2b"}}
	if err := c.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// oursInTheirGroup is the definition that Yuba installs, in the test's group.
func oursInTheirGroup(t *testing.T) fs.FS {
	t.Helper()
	data, err := crd.FS.ReadFile("infra.contrib.fluxcd.io_terraforms.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{"terraforms.yaml": {Data: []byte(strings.ReplaceAll(string(data), "infra.contrib.fluxcd.io", takeoverGroup))}}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute it is not so that %s", what)
		}
	}
}
