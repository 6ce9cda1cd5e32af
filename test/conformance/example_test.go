// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	ssautil "github.com/fluxcd/pkg/ssa/utils"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/config/crd"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/build"
	"github.com/yuba-dev/yuba/internal/testkit/fluxtest"
)

// The layered example works unchanged in a cluster with Flux: a full API server with Flux's own
// CRDs accepts all of its manifests in a server-side dry run, including those that Kustomizations
// apply. The CRDs of notification-controller are not published where a build can get them, so the
// test generates them from its types.
func TestExampleIsAcceptedByTheKindsThatFluxPublishes(t *testing.T) {
	h := open(t, startCluster(t))
	published := fstest.MapFS{}
	for name, definition := range fluxtest.Definitions(t) {
		published[name] = &fstest.MapFile{Data: definition}
	}
	installKinds(t, h.client, published)
	installYuba(t, h.client) // those that are there already stay
	notifications := fstest.MapFS{}
	names, err := fs.Glob(crd.Flux(), "notification.*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		definition, err := fs.ReadFile(crd.Flux(), name)
		if err != nil {
			t.Fatal(err)
		}
		notifications[name] = &fstest.MapFile{Data: definition}
	}
	installKinds(t, h.client, notifications)

	tried := map[string]int{}
	for _, tenant := range []string{"tenant-a", "tenant-b"} {
		for _, environment := range []string{"stage", "production"} {
			e := &exampleEnvironment{home: h, values: map[string]map[string]string{}, tried: tried}
			e.apply(t, bootstrap(t, tenant, environment))
		}
	}
	want := map[string]int{"Namespace": 4, "Secret": 8, "ConfigMap": 8, "GitRepository": 4, "Receiver": 4,
		"Kustomization": 4 + 19, "OCIRepository": 19, "Terraform": 19}
	if diff := cmp.Diff(want, tried); diff != "" {
		t.Errorf("the objects that were tried (-want +got):\n%s", diff)
	}
}

// bootstrap contains the objects that make a namespace an environment.
func bootstrap(t *testing.T, tenant, environment string) []*unstructured.Unstructured {
	t.Helper()
	script := exec.CommandContext(t.Context(), "sh", filepath.Join(exampleDir, "bootstrap.sh"), tenant, environment)
	script.Env = []string{"PATH=" + os.Getenv("PATH"), "CENTRAL=https://git.example.com/central.git", "REGISTRY=registry.example.com",
		"STATES=https://states.example.com", "STATES_USERNAME=tofu", "STATES_PASSWORD=sesame", "RECEIVER_TOKEN=ring"}
	out, err := script.Output()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := ssautil.ReadObjects(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

var exampleDir = filepath.Join("..", "..", "examples", "reasonable-scale")

// exampleEnvironment is an environment of the example: the content of its ConfigMaps, and the
// number of its objects by kind.
type exampleEnvironment struct {
	*home
	values map[string]map[string]string
	tried  map[string]int
}

// ConfigMap reads from the environment's manifests; they are not on the API.
func (e *exampleEnvironment) ConfigMap(_ context.Context, _, name string) (map[string]string, error) {
	if data, found := e.values[name]; found {
		return data, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
}

// Secret finds none: the example has no substitutions from Secrets.
func (e *exampleEnvironment) Secret(_ context.Context, _, name string) (map[string][]byte, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
}

// apply tries objects, and then those of the Kustomizations among them, in the order of the
// controller.
func (e *exampleEnvironment) apply(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	var kustomizations []*kustomizev1.Kustomization
	for _, obj := range objects {
		e.try(t, obj)
		switch obj.GetKind() {
		case "ConfigMap":
			var c corev1.ConfigMap
			convert(t, obj, &c)
			e.values[c.Name] = c.Data
		case kustomizev1.KustomizationKind:
			k := &kustomizev1.Kustomization{}
			convert(t, obj, k)
			kustomizations = append(kustomizations, k)
		}
	}
	for _, k := range kustomizations {
		built, err := build.Build(t.Context(), build.Input{Object: k, Dir: filepath.Join(exampleDir, "central"), Values: e, Strict: true})
		if err != nil {
			t.Fatalf("build %s/%s: %v", k.Namespace, k.Name, err)
		}
		e.apply(t, built.Objects)
	}
}

// try creates an object in a dry run; namespaces are created, because other objects need them.
func (e *exampleEnvironment) try(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	if text, err := obj.MarshalJSON(); err != nil || strings.Contains(string(text), "${") {
		t.Errorf("%s %s has a hole: %s, %v", obj.GetKind(), obj.GetName(), text, err)
	}
	options := []client.ApplyOption{client.FieldOwner("kustomize-controller"), client.ForceOwnership}
	if obj.GetKind() != "Namespace" {
		options = append(options, client.DryRunAll)
	}
	if err := e.client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj.DeepCopy()), options...); err != nil {
		t.Errorf("%s %s/%s is refused: %v", obj.GetKind(), obj.GetNamespace(), obj.GetName(), err)
	}
	e.tried[obj.GetKind()]++
}

func convert(t *testing.T, obj *unstructured.Unstructured, to any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, to); err != nil {
		t.Fatalf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
}
