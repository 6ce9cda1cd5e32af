// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
)

// TestCozystacksKindsAreServed: the API serves the kinds of Cozystack's applications, and fills in the
// defaults that package schema says it does.
func TestCozystacksKindsAreServed(t *testing.T) {
	w := newWorld(t)
	files, err := filepath.Glob("../render/testdata/cozystack/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first, second, _ := bytes.Cut(text, []byte("---\n"))
		d := &appv1.ApplicationDefinition{}
		if err := yaml.UnmarshalStrict(first, d); err != nil {
			t.Fatal(err)
		}
		// Other tests have kinds of these names.
		a := &d.Spec.Application
		d.Name, a.Kind, a.Plural, a.Singular = "cozy-"+d.Name, "Cozy"+a.Kind, "cozy"+a.Plural, "cozy"+a.Singular
		d.Spec.Release.Prefix = "cozy-" + d.Spec.Release.Prefix
		parsed, list := definition.Parse(d)
		if parsed == nil {
			t.Fatal(list)
		}
		content, err := yaml.YAMLToJSON(second)
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Create(context.Background(), d); err != nil {
			t.Fatal(err)
		}
		w.awaitDefinition(d, appv1.ReasonServed)
		o.SetNamespace(w.namespace)
		o.SetKind(a.Kind)
		spec, _, _ := unstructured.NestedMap(o.Object, "spec") //nolint:errcheck // it is an object
		made, err := w.objects.Resource(appv1.InstanceVersion.WithResource(d.Spec.Application.Plural)).Namespace(w.namespace).
			Create(context.Background(), o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		if diff := cmp.Diff(parsed.Schema.Default(spec), made.Object["spec"]); diff != "" {
			t.Errorf("%s: the API has other defaults (-want +got):\n%s", d.Name, diff)
		}
	}
}
