// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

const digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func TestImageOf(t *testing.T) {
	for text, want := range map[string]string{
		"nginx:1.27":                           "nginx 1.27",
		"registry:5000/team/app:v1":            "registry:5000/team/app v1",
		"ghcr.io/acme/web@" + digest:           "ghcr.io/acme/web sha256:aaaaaaaaaaaa",
		"ghcr.io/acme/web:2.0@" + digest:       "ghcr.io/acme/web 2.0@sha256:aaaaaaaaaaaa",
		"nginx":                                "",
		"":                                     "",
		digest:                                 "",
		"https://example.com/a:b":              "",
		"Nginx:1":                              "",
		"a b:c":                                "",
		"{{ .image }}:1":                       "",
		"nginx:<script>":                       "",
		strings.Repeat("a", 300) + ":1":        "",
		"nginx:" + strings.Repeat("1", 200):    "",
		"acme.azurecr.io/a/b_c-d.e:1.0.0_rc.1": "acme.azurecr.io/a/b_c-d.e 1.0.0_rc.1",
	} {
		name, version, ok := imageOf(text)
		if got := strings.TrimSpace(name + " " + version); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestImagesIn(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 50) + `{"image":"nginx:1"}` + strings.Repeat("}", 50)
	for inputs, want := range map[string]string{
		`{"web_image": "acme/web:1.2"}`:                                        "acme/web 1.2 web_image",
		`{"endpoint": "db:5432", "version": "nginx:1"}`:                        "",
		`{"image": {"repository": "acme/web", "tag": "1.2"}}`:                  "acme/web 1.2 image.tag",
		`{"image": {"registry": "ghcr.io", "repository": "a/b", "tag": "3"}}`:  "ghcr.io/a/b 3 image.tag",
		`{"image": {"repository": "acme/web"}}`:                                "",
		`{"image": "acme/web", "image_tag": "7"}`:                              "acme/web 7 image_tag",
		`{"image_repository": "acme/web", "image_tag": "7"}`:                   "acme/web 7 image_tag",
		`{"imageName": "x", "imageTag": "7", "imageRepository": "y"}`:          "",
		`{"image_tag": "7"}`:                                                   "",
		`{"containers": [{"image": "a:1"}, {"image": "b:2"}]}`:                 "a 1 containers.image; b 2 containers.image",
		`{"images": {"api": "a:1", "web": "b:2"}}`:                             "a 1 images.api; b 2 images.web",
		`{"image": 7, "images": null, "image_tag": {"repository": ["x", {}]}}`: "",
		deep: "",
	} {
		var tree map[string]any
		if err := json.Unmarshal([]byte(inputs), &tree); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range imagesIn(tree) {
			got = append(got, one.Name+" "+one.Version+" "+one.From)
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%s: %q, want %q", inputs, text, want)
		}
	}
	many := map[string]any{}
	for i := range 1000 {
		many[fmt.Sprintf("image%d", i)] = "a:1"
	}
	if n := len(imagesIn(many)); n != maxImages {
		t.Errorf("%d images of one object", n)
	}
}

// shown are uses in short.
func shown(uses []use) string {
	var lines []string
	for _, u := range uses {
		lines = append(lines, strings.Join([]string{u.Kind, u.Source, u.Version, u.Environment, u.Where, u.Says}, "|"))
	}
	return strings.Join(lines, "\n")
}

func json1(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }

func TestWhatObjectsTell(t *testing.T) {
	is := metav1.ObjectMeta{Namespace: "apps", Name: "web", Labels: map[string]string{"env": "prod"}}
	ready := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}

	stack := &infrav1.Terraform{ObjectMeta: is, Spec: infrav1.TerraformSpec{Values: json1(`{"image": {"repository": "a", "tag": "1"}}`),
		Vars: []infrav1.Variable{{Name: "sidecar_image", Value: json1(`"b:2"`)}, {Name: "image"}, {Name: "size", Value: json1("3")}, {Name: "bad_image", Value: json1("{")}}}}
	stack.Status.Plan.Pending = "plan-1"
	want := "image|a|1|prod|apps/web|declared, pending, image.tag\nimage|b|2|prod|apps/web|declared, pending, sidecar_image"
	if diff := cmp.Diff(want, shown(stackImages(stack, "env"))); diff != "" {
		t.Error(diff)
	}

	k := &kustomizev1.Kustomization{ObjectMeta: is, Spec: kustomizev1.KustomizationSpec{SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "repo"},
		Images: []kustomize.Image{{Name: "web", NewName: "acme/web", NewTag: "3"}, {Name: "db", Digest: digest}, {Name: "same"}}}}
	if uses := kustomizationUses(k, "env"); uses != nil {
		t.Errorf("of what was never applied: %v", uses)
	}
	k.Status.LastAppliedRevision, k.Status.Conditions = "main@sha1:0123456789abcdef", ready
	want = "image|acme/web|3|prod|Kustomization apps/web|images\nimage|db|sha256:aaaaaaaaaaaa|prod|Kustomization apps/web|images\n" +
		"source|GitRepository apps/repo|main@sha1:0123456789|prod|Kustomization apps/web|"
	if diff := cmp.Diff(want, shown(kustomizationUses(k, "env"))); diff != "" {
		t.Error(diff)
	}

	h := &helmv2.HelmRelease{ObjectMeta: is, Spec: helmv2.HelmReleaseSpec{Values: json1(`{"image": {"repository": "podinfo", "tag": "6.5"}}`)}}
	if uses := releaseUses(h, "env"); uses != nil {
		t.Errorf("of what was never installed: %v", uses)
	}
	h.Status.Conditions = ready
	h.Status.History = helmv2.Snapshots{{Version: 1, ChartName: "podinfo", ChartVersion: "6.4.0", Status: "superseded"},
		{Version: 2, ChartName: "podinfo", ChartVersion: "6.5.0", AppVersion: "6.5", Status: "deployed"}}
	want = "chart|podinfo|6.5.0|prod|HelmRelease apps/web|deployed, app 6.5\nimage|podinfo|6.5|prod|HelmRelease apps/web|image.tag"
	if diff := cmp.Diff(want, shown(releaseUses(h, "env"))); diff != "" {
		t.Error(diff)
	}
}

// deployment is a manifest with one container.
func deployment(image string) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"template": map[string]any{
		"spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": image}, "text"}}}}}}
}

func TestImagesOfTenants(t *testing.T) {
	tenant := func(image string) *tenantv1.Tenant {
		tenant := &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "acme-web", UID: "1", ResourceVersion: image, Labels: map[string]string{tenantv1.LabelUID: "acme"},
			Annotations: map[string]string{tenantv1.AnnotationActivate: "1", tenantv1.AnnotationExtra: `{"version":"9"}`}},
			Spec: tenantv1.TenantSpec{UID: "acme", TemplateRef: "web", Resources: tenantv1.Resources{
				Deployments: []tenantv1.TResource{{ID: "app", NameTemplate: "acme", Spec: deployment(image)}},
				Manifests:   []tenantv1.TResource{{ID: "other", Spec: unstructured.Unstructured{Object: map[string]any{"kind": "Deployment", "spec": "text"}}}}}}}
		tenant.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
		return tenant
	}
	var images tenantImages
	for image, want := range map[string]string{
		"acme/web:1":                  "image|acme/web|1|apps|Tenant apps/acme-web|deployments[app]",
		"acme/web:{{ .version }}":     "image|acme/web|9|apps|Tenant apps/acme-web|deployments[app]",
		"acme/web:{{ .missing }}":     "",
		"acme/web:{{ .version | bad ": "",
	} {
		for range 2 { // made, and remembered
			if diff := cmp.Diff(want, shown(images.uses(tenant(image), byNamespace))); diff != "" {
				t.Errorf("%s: %s", image, diff)
			}
		}
	}
}
