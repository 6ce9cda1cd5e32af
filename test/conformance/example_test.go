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

// The layered example works in a cluster with Flux as it is: every one of its manifests, those that are applied by hand and
// those that Kustomizations make, is accepted in a server-side dry run by a full API server with Flux's own definitions.
// For notification-controller, whose definitions are published nowhere that a build can get them, those that are generated
// from its types take their place.
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

// bootstrap is what makes a namespace an environment.
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

// exampleEnvironment is an environment of the example: what its ConfigMaps say, and how many objects of which kind it has.
type exampleEnvironment struct {
	*home
	values map[string]map[string]string
	tried  map[string]int
}

// ConfigMap is what the environment's manifests say; nothing of them is on the API.
func (e *exampleEnvironment) ConfigMap(_ context.Context, _, name string) (map[string]string, error) {
	if data, found := e.values[name]; found {
		return data, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
}

// Secret finds none: the example substitutes nothing from Secrets.
func (e *exampleEnvironment) Secret(_ context.Context, _, name string) (map[string][]byte, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
}

// apply tries objects, and then those that Kustomizations among them make, as the controller would come to them.
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

// try has the API server accept an object without keeping it; namespaces are kept for what is in them.
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
