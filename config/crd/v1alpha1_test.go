// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	oldv1 "github.com/yuba-dev/yuba/api/infra/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

// heard collects the warnings that come with a client's answers.
type heard struct {
	mu       sync.Mutex
	warnings []string
}

func (h *heard) HandleWarningHeader(_ int, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.warnings = append(h.warnings, text)
}

func (h *heard) HandleWarningHeaderWithContext(_ context.Context, code int, agent, text string) {
	h.HandleWarningHeader(code, agent, text)
}

func (h *heard) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	taken := h.warnings
	h.warnings = nil
	return taken
}

// bothVersions is a client that knows the kind in both versions.
func bothVersions(t *testing.T) (client.Client, *heard) {
	t.Helper()
	scheme := kubetest.Scheme()
	if err := oldv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	config, warnings := rest.CopyConfig(apitest.API(t).RESTConfig()), &heard{}
	config.WarningHandlerWithContext = warnings
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c, warnings
}

// A manifest as people wrote it for tofu-controller's first version, with every field that it had.
func oldManifest(t *testing.T, namespace string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile("testdata/v1alpha1.yaml")
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(data, &object.Object); err != nil {
		t.Fatal(err)
	}
	object.SetNamespace(namespace)
	return object
}

func TestAnOldManifestIsTheSameStackInBothVersions(t *testing.T) {
	namespace := apitest.Namespace(t)
	c, warnings := bothVersions(t)
	manifest := oldManifest(t, namespace)
	want := manifest.DeepCopy().Object["spec"]
	if err := c.Create(t.Context(), manifest, client.FieldValidation("Strict")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v1alpha1 Terraform is deprecated, upgrade to v1alpha2"}, warnings.take()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}

	key := client.ObjectKeyFromObject(manifest)
	var now infrav1.Terraform
	if err := c.Get(t.Context(), key, &now); err != nil {
		t.Fatal(err)
	}
	if now.Status.ObservedGeneration != -1 {
		t.Errorf("a new stack's observedGeneration is %d, want -1", now.Status.ObservedGeneration)
	}
	if got := warnings.take(); got != nil {
		t.Errorf("the present version warns: %v", got)
	}
	var spec map[string]any
	if err := yaml.Unmarshal([]byte(asYAML(t, now.Spec)), &spec); err != nil {
		t.Fatal(err)
	}
	// What the manifest does not say is there by default; what it says must be as it said.
	for name := range spec {
		if _, said := want.(map[string]any)[name]; !said {
			delete(spec, name)
		}
	}
	if diff := cmp.Diff(asYAML(t, want), asYAML(t, spec)); diff != "" {
		t.Errorf("spec in v1alpha2 (-want +got):\n%s", diff)
	}

	now.Status = full(t, namespace).Status
	if err := c.Status().Update(t.Context(), &now); err != nil {
		t.Fatal(err)
	}
	var old oldv1.Terraform
	if err := c.Get(t.Context(), key, &old); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asYAML(t, now.Status), asYAML(t, old.Status)); diff != "" {
		t.Errorf("status in v1alpha1 (-v1alpha2 +v1alpha1):\n%s", diff)
	}
}

func TestReadingAndWritingBackInTheOldVersionLosesNothing(t *testing.T) {
	namespace := apitest.Namespace(t)
	c, _ := bothVersions(t)
	written := full(t, namespace)
	want := written.DeepCopy()
	if err := c.Create(t.Context(), written); err != nil {
		t.Fatal(err)
	}
	written.Status = want.Status
	if err := c.Status().Update(t.Context(), written); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(written)
	var old oldv1.Terraform
	if err := c.Get(t.Context(), key, &old); err != nil {
		t.Fatal(err)
	}
	old.Labels = map[string]string{"team": "a"}
	if err := c.Update(t.Context(), &old); err != nil {
		t.Fatal(err)
	}
	old.Status.LastAppliedRevision = "main@sha1:ffff"
	if err := c.Status().Update(t.Context(), &old); err != nil {
		t.Fatal(err)
	}
	var got infrav1.Terraform
	if err := c.Get(t.Context(), key, &got); err != nil {
		t.Fatal(err)
	}
	want.Status.LastAppliedRevision = "main@sha1:ffff"
	if diff := cmp.Diff(asYAML(t, want.Spec), asYAML(t, got.Spec)); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(asYAML(t, want.Status), asYAML(t, got.Status)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if got.Generation != written.Generation {
		t.Errorf("the generation is %d, was %d: a write that changes nothing makes the stack run again", got.Generation, written.Generation)
	}
}

func TestServerSideApplyWorksInEitherVersion(t *testing.T) {
	namespace := apitest.Namespace(t)
	c, _ := bothVersions(t)
	apply := func(manager, manifest string) {
		t.Helper()
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
			t.Fatal(err)
		}
		object.SetNamespace(namespace)
		err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(manager))
		if err != nil {
			t.Fatalf("%s applies: %v", manager, err)
		}
	}
	apply("git", `{apiVersion: infra.contrib.fluxcd.io/v1alpha1, kind: Terraform, metadata: {name: a},
		spec: {interval: 10m, path: ./infra, sourceRef: {kind: GitRepository, name: code}, vars: [{name: size, value: 3}]}}`)
	apply("team", `{apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, metadata: {name: a},
		spec: {approvePlan: auto, interval: 10m, env: [{name: REGION, value: north}]}}`)
	// A field that its only owner leaves out goes, in either version; what others have applied stays.
	apply("git", `{apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, metadata: {name: a},
		spec: {interval: 10m, sourceRef: {kind: GitRepository, name: code}, vars: [{name: size, value: 4}]}}`)
	apply("team", `{apiVersion: infra.contrib.fluxcd.io/v1alpha1, kind: Terraform, metadata: {name: a},
		spec: {approvePlan: auto, interval: 10m, env: [{name: ZONE, value: one}]}}`)

	var got infrav1.Terraform
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "a"}, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"path": "", "approvePlan": "auto", "source": "GitRepository/code", "vars": `[{"name":"size","value":4}]`,
		"env": `[{"name":"ZONE","value":"one"}]`}
	if diff := cmp.Diff(want, map[string]string{"path": got.Spec.Path, "approvePlan": got.Spec.ApprovePlan, "source": got.Spec.SourceRef.String(),
		"vars": asJSON(t, got.Spec.Vars), "env": asJSON(t, got.Spec.Env)}); diff != "" {
		t.Errorf("after four applies (-want +got):\n%s", diff)
	}

	// Two who want different things are told so, whichever version they use.
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("infra.contrib.fluxcd.io/v1alpha1")
	object.SetKind("Terraform")
	object.SetNamespace(namespace)
	object.SetName("a")
	object.Object["spec"] = map[string]any{"interval": "10m", "approvePlan": "disable"}
	err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("third"))
	if err == nil || !strings.Contains(err.Error(), `conflict with "team"`) {
		t.Errorf("a third owner with another approvePlan: %v", err)
	}
}

func TestKubectlAppliesAManifestWhoseVersionIsRaised(t *testing.T) {
	namespace := apitest.Namespace(t)
	file := filepath.Join(t.TempDir(), "stack.yaml")
	manifest := oldManifest(t, namespace)
	for _, step := range []struct{ version, path, want string }{
		{"v1alpha1", "./infra", "created"},
		{"v1alpha1", "./infra", "unchanged"},
		{"v1alpha2", "./infra/network", "configured"},
		{"v1alpha2", "./infra/network", "unchanged"},
	} {
		manifest.SetAPIVersion("infra.contrib.fluxcd.io/" + step.version)
		if err := unstructured.SetNestedField(manifest.Object, step.path, "spec", "path"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(asYAML(t, manifest.Object)), 0o600); err != nil {
			t.Fatal(err)
		}
		if said := kubectl(t, namespace, "apply", "-f", file); !strings.Contains(said, "/network "+step.want) {
			t.Errorf("%s with the path %s: %q, want %q", step.version, step.path, said, step.want)
		}
	}
	if path := kubectl(t, namespace, "get", "tf", "network", "-o", "jsonpath={.apiVersion} {.spec.path}"); path != "infra.contrib.fluxcd.io/v1alpha2 ./infra/network" {
		t.Errorf("it is %q", path)
	}
}

func TestTheOldVersionRefusesWhatThePresentOneRefuses(t *testing.T) {
	c, _ := bothVersions(t)
	manifest := oldManifest(t, apitest.Namespace(t))
	if err := unstructured.SetNestedField(manifest.Object, "five minutes", "spec", "interval"); err != nil {
		t.Fatal(err)
	}
	err := c.Create(t.Context(), manifest)
	if err == nil || !strings.Contains(err.Error(), "spec.interval: Invalid value") {
		t.Errorf("an interval that would stop every reader of the list: %v", err)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
