// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

const cacheYAML = `
metadata: {name: KINDs}
spec:
  application: {kind: KIND, plural: KINDs, singular: KIND, openAPISchema: '{"type":"object","properties":{"replicas":{"type":"integer","default":2}}}'}
  backend: {type: Helm, helm: {prefix: KIND-, labels: {tier: cache}, chartRef: {kind: OCIRepository, name: chart, namespace: charts}}}
`

// releases are the HelmReleases of the namespace.
var releases = schema.GroupVersionResource{Group: "helm.toolkit.fluxcd.io", Version: "v2", Resource: "helmreleases"}

// helmRelease waits for a HelmRelease.
func (w *world) helmRelease(name string, is ...func(*unstructured.Unstructured) bool) (o *unstructured.Unstructured) {
	w.Helper()
	w.until("release "+name, func() (bool, string) {
		var err error
		if o, err = w.objects.Resource(releases).Namespace(w.namespace).Get(context.Background(), name, metav1.GetOptions{}); err != nil {
			return false, err.Error()
		}
		return !slices.ContainsFunc(is, func(f func(*unstructured.Unstructured) bool) bool { return !f(o) }), fmt.Sprint(o.Object["spec"])
	})
	return o
}

// installed plays that a release is installed.
func (w *world) installed(o *unstructured.Unstructured) {
	w.Helper()
	o.Object["status"] = map[string]any{"observedGeneration": o.GetGeneration(), "lastAttemptedRevision": "1.2.3", "conditions": []any{map[string]any{
		"type": "Ready", "status": "True", "reason": "InstallSucceeded", "message": "installed", "lastTransitionTime": "2026-01-02T03:04:05Z"}}}
	if _, err := w.objects.Resource(releases).Namespace(w.namespace).UpdateStatus(context.Background(), o, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

func TestHelmAndTerraformAreServedAlike(t *testing.T) {
	w := newWorld(t)
	w.awaitDefinition(w.define("Mug", bucketYAML), appv1.ReasonServed)
	w.awaitDefinition(w.define("Store", cacheYAML), appv1.ReasonServed)
	d, err := discovery.NewDiscoveryClientForConfig(apitest.API(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	served := map[string][]string{}
	w.until("both are found", func() (bool, string) {
		list, err := d.ServerResourcesForGroupVersion("apps.cozystack.io/v1alpha1")
		if err != nil {
			return false, err.Error()
		}
		for _, r := range list.APIResources {
			served[r.Name] = append(slices.Clone(r.Verbs), r.Categories...)
		}
		return served["mugs"] != nil && served["stores"] != nil, fmt.Sprint(served)
	})
	if diff := cmp.Diff(served["mugs"], served["stores"]); diff != "" {
		t.Errorf("the kinds differ by their backend:\n%s", diff)
	}
}

func TestAnInstanceBecomesAHelmRelease(t *testing.T) {
	w := newWorld(t)
	w.define("Cache", cacheYAML)
	o := w.make("Cache", "web", map[string]any{"replicas": int64(3)})
	release := w.helmRelease("cache-web")
	if len(release.GetOwnerReferences()) != 1 || release.GetOwnerReferences()[0].UID != o.GetUID() || release.GetLabels()["tier"] != "cache" || release.GetLabels()[appv1.LabelName] != "web" {
		t.Errorf("the release is not the instance's: %v", release.Object["metadata"])
	}
	if values, _, _ := unstructured.NestedMap(release.Object, "spec", "values"); values["replicas"] != int64(3) { //nolint:errcheck // it is a map
		t.Errorf("the values are %v", values)
	}
	w.await("Cache", "web", appv1.PhaseProgressing)
	w.installed(release)
	if s, _ := w.await("Cache", "web", appv1.PhaseReady); s.Version != "1.2.3" || s.BackendRef == nil || s.BackendRef.Kind != "HelmRelease" {
		t.Errorf("the status is %+v", s)
	}
	// A change reaches the release, and somebody's change of the release does not stay.
	if _, err := w.resource("Cache").Patch(context.Background(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":5}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	replicas := func(want int64) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool {
			n, _, _ := unstructured.NestedInt64(o.Object, "spec", "values", "replicas") //nolint:errcheck // it is a number
			return n == want
		}
	}
	w.helmRelease("cache-web", replicas(5))
	if _, err := w.objects.Resource(releases).Namespace(w.namespace).Patch(context.Background(), "cache-web", types.MergePatchType, []byte(`{"spec":{"values":{"replicas":9}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.helmRelease("cache-web", replicas(5))
	if err := w.resource("Cache").Delete(context.Background(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.gone("Cache", "web")
	if _, err := w.objects.Resource(releases).Namespace(w.namespace).Get(context.Background(), "cache-web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the release is still there: %v", err)
	}
}

func TestABackendThatTheAPILacks(t *testing.T) {
	w := newWorld(t)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := w.Get(context.Background(), client.ObjectKey{Name: "helmreleases.helm.toolkit.fluxcd.io"}, crd); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(context.Background(), crd); err != nil {
		t.Fatal(err)
	}
	w.until("the API lacks HelmReleases", func() (bool, string) {
		return apierrors.IsNotFound(w.Get(context.Background(), client.ObjectKeyFromObject(crd), &apiextensionsv1.CustomResourceDefinition{})), ""
	})
	again := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.Name, Labels: crd.Labels, Annotations: crd.Annotations}, Spec: crd.Spec}
	restore := func() error { return client.IgnoreAlreadyExists(w.Create(context.Background(), again.DeepCopy())) }
	t.Cleanup(func() {
		if err := restore(); err != nil {
			t.Error(err)
		}
	})
	w.restart(func() {})
	w.awaitDefinition(w.define("Shelf", strings.ReplaceAll(cacheYAML, "KINDs", "KINDes")), appv1.ReasonServed)
	shelves := w.objects.Resource(appv1.InstanceVersion.WithResource("shelfes")).Namespace(w.namespace)
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	o.SetGroupVersionKind(appv1.InstanceVersion.WithKind("Shelf"))
	o.SetName("web")
	if _, err := shelves.Create(context.Background(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	said := func(want string) {
		t.Helper()
		w.until("the instance is "+want, func() (bool, string) {
			now, err := shelves.Get(context.Background(), "web", metav1.GetOptions{})
			if err != nil {
				return false, err.Error()
			}
			text := fmt.Sprint(now.Object["status"])
			return strings.Contains(text, want), text
		})
	}
	said(appv1.ReasonBackendMissing)
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	w.helmRelease("shelf-web")
	said(appv1.PhaseProgressing)
}

// Each namespace chooses among the identities that the definition allows, and gets none of another one.
func TestEachTenantHasItsIdentity(t *testing.T) {
	w := newWorld(t)
	w.awaitDefinition(w.define("Safe", bucketYAML), appv1.ReasonServed)
	first := w.namespace
	for namespace, wants := range map[string][2]string{apitest.Namespace(t): {"writer", "writer"}, apitest.Namespace(t): {"cluster-admin", "reader"}, first: {"", "reader"}} {
		w.namespace = namespace
		patch := `{"metadata":{"annotations":{"` + appv1.AnnotationIdentity + `":"` + wants[0] + `"}}}`
		if err := w.Patch(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
		w.make("Safe", "one", map[string]any{"bucketName": "a"})
		w.stack("safe-one", func(t *infrav1.Terraform) bool { return t.Spec.ServiceAccountName == wants[1] })
	}
}

func TestTheAPIRefusesDefinitionsThatAreNoUnion(t *testing.T) {
	w := newWorld(t)
	const terraform, helm = "terraform: {prefix: KIND-, inline: {main.tf: ''}}", "helm: {prefix: KIND-, chartRef: {kind: OCIRepository, name: chart}}"
	const head = "metadata: {name: KINDs}\nspec:\n  application: {kind: KIND, plural: KINDs, singular: KIND, openAPISchema: '{\"type\":\"object\"}'}\n"
	for sentence, test := range map[string]struct{ rest, want, more string }{
		"a schema of a megabyte":          {"  backend: {type: Terraform, " + terraform + "}\n", "Too long", `,"description":"` + strings.Repeat("x", 1<<20) + `"`},
		"Terraform with helm":             {"  backend: {type: Terraform, " + helm + "}\n", "terraform is required with type Terraform", ""},
		"Helm with nothing":               {"  backend: {type: Helm}\n", "helm is required with type Helm", ""},
		"both":                            {"  backend: {type: Helm, " + helm + ", " + terraform + "}\n", "terraform is required with type Terraform, and allowed only then", ""},
		"a type that does not exist":      {"  backend: {type: Pulumi, " + terraform + "}\n", "Unsupported value", ""},
		"a release beside a backend":      {"  release: {prefix: a-, chartRef: {kind: HelmChart, name: chart}}\n  backend: {type: Terraform, " + terraform + "}\n", "either release or backend", ""},
		"neither a release nor a backend": {"", "either release or backend", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := w.Create(context.Background(), w.read("Union", strings.Replace(head, `"object"`, `"object"`+test.more, 1)+test.rest))
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the API answers %v", err)
			}
		})
	}
}

// What a definition's variables lack is said where the definition is, and no kind is served.
func TestVariablesAreCheckedWhenADefinitionIsWritten(t *testing.T) {
	w := newWorld(t)
	for kind, test := range map[string]struct{ old, new, want string }{
		"Lost":  {`variable "size" { type = number }`, ``, `the module does not declare the variable "size"`},
		"Twice": {`"size":{"type":"integer","default":3}`, `"bucket_name":{"type":"string"}`, `would all be the variable "bucket_name"`},
		"Wrong": {`type = number`, `type = bool`, "size"},
		"Loop":  {`{"type":"object","properties":{"bucketName":{"type":"string"}`, `{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},"type":"object","properties":{"n":{"$ref":"#/$defs/n"},"bucketName":{"type":"string"}`, "the schema is recursive"},
		"More":  {`output "endpoint"`, `variable "region" {}` + "\n          " + `output "endpoint"`, `the module requires the variable "region", and nothing sets it`},
	} {
		d := w.define(kind, strings.Replace(bucketYAML, test.old, test.new, 1))
		if message := w.awaitDefinition(d, appv1.ReasonInvalid); !strings.Contains(message, test.want) {
			t.Errorf("%s: the message is %q", kind, message)
		}
		if _, err := w.resource(kind).List(context.Background(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s is served: %v", kind, err)
		}
	}
}
