// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/render"
)

var update = flag.Bool("update", false, "write the expected objects")

// example is a file of testdata: a definition and an instance.
type example struct {
	Definition appv1.ApplicationDefinition `json:"definition"`
	Instance   struct {
		Labels, Annotations map[string]string
		Spec                map[string]any
	} `json:"instance"`
	// Identity is that of the namespace.
	Identity string `json:"identity"`
}

func load(t *testing.T, file string) (*definition.Definition, *render.Instance) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var e example
	if err := yaml.UnmarshalStrict(text, &e); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	d, found := definition.Parse(&e.Definition)
	if d == nil {
		t.Fatalf("%s: %s", file, found)
	}
	return d, &render.Instance{Kind: d.Application.Kind, Namespace: "team-a", Name: "photos", UID: "uid-1", Labels: e.Instance.Labels,
		Annotations: e.Instance.Annotations, Spec: e.Instance.Spec, Identity: e.Identity}
}

func made(d *definition.Definition, i *render.Instance) (any, error) {
	if d.Backend == appv1.BackendTerraform {
		return render.Terraform(d, i)
	}
	return render.HelmRelease(d, i)
}

// TestObjects compares what instances become with testdata/NAME.want.yaml.
func TestObjects(t *testing.T) {
	files, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".in.yaml")
		t.Run(filepath.Base(name), func(t *testing.T) {
			d, i := load(t, file)
			before := cmp.Diff(i.Spec, nil)
			object, err := made(d, i)
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(name+".want.yaml", got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name + ".want.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("the object (-want +got):\n%s", diff)
			}
			if cmp.Diff(i.Spec, nil) != before {
				t.Error("the spec of the instance was changed")
			}
		})
	}
}

func TestWhatTheDefinitionDoesNotAllow(t *testing.T) {
	for sentence, test := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"a foreign identity":                {map[string]string{appv1.AnnotationIdentity: "admin"}, "not one of the service accounts that the definition allows: reader, writer"},
		"a way of approval":                 {map[string]string{appv1.AnnotationApprovePlan: "policy"}, "not one of the values that the definition allows: auto, manual"},
		"a plan's id is no way of approval": {map[string]string{appv1.AnnotationApprovePlan: "plan-1"}, "not one of the values"},
	} {
		t.Run(sentence, func(t *testing.T) {
			d, i := load(t, "testdata/terraform.in.yaml")
			i.Annotations = test.annotations
			_, err := render.Terraform(d, i)
			var refused *render.NotAllowedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestReleasesHaveOnlyAllowedIdentities(t *testing.T) {
	for sentence, test := range map[string]struct{ instance, namespace, want string }{
		"the default":             {"", "", "deployer"},
		"the namespace's choice":  {"", "operator", "operator"},
		"the instance's choice":   {"operator", "deployer", "operator"},
		"a namespace's other one": {"", "admin", "deployer"},
		"a foreign one":           {"admin", "", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			d, i := load(t, "testdata/template.in.yaml")
			i.Annotations, i.Identity = map[string]string{appv1.AnnotationIdentity: test.instance}, test.namespace
			made, err := render.HelmRelease(d, i)
			if test.want == "" {
				var refused *render.NotAllowedError
				if !errors.As(err, &refused) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, _, _ := unstructured.NestedString(made.Object, "spec", "serviceAccountName"); got != test.want { //nolint:errcheck // compared
				t.Errorf("the account is %q, want %q", got, test.want)
			}
		})
	}
}

func TestAnAbandonedInstanceLeavesItsResources(t *testing.T) {
	d, i := load(t, "testdata/terraform.in.yaml")
	for value, destroys := range map[string]bool{"": true, "true": true, "uid-of-another": true, "uid-1": false} {
		i.Annotations = map[string]string{appv1.AnnotationAbandon: value}
		stack, err := render.Terraform(d, i)
		if err != nil {
			t.Fatal(err)
		}
		if stack.Spec.DestroyResourcesOnDeletion != destroys {
			t.Errorf("with the value %q, the resources are destroyed: %t", value, stack.Spec.DestroyResourcesOnDeletion)
		}
	}
}
