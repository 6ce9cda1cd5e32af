// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/platform/blueprint"
	"github.com/yuba-dev/yuba/internal/platform/plan"
	"github.com/yuba-dev/yuba/internal/registry/bundle"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// A module that makes something, and does not say what that needs, would fail only behind the air gap.
func TestAModuleMustDeclareWhatItNeeds(t *testing.T) {
	cluster := provider("kubectl", "gavinbunney/kubectl", "1.19.0")
	machines := map[string]string{"local/network/main.tf": provider("machines", "yuba-dev/machines", "0.1.0"), "local/machines/main.tf": provider("machines", "yuba-dev/machines", "0.1.0"),
		"local/machines/bundle.yaml": "nothing: true\n"}
	for sentence, test := range map[string]struct {
		more  string
		files map[string]string
		want  string // of the error
	}{
		"machines without a declaration":      {"", map[string]string{"local/machines/bundle.yaml": ""}, "the module local/machines makes machines or objects in a cluster, and has no bundle.yaml"},
		"a component without one":             {"  components: [{name: a}]\n", map[string]string{"a/main.tf": cluster}, "the module a makes"},
		"a component that calls a provider":   {"  components: [{name: a}]\n", map[string]string{"a/main.tf": "module \"b\" { source = \"../b\" }\n", "b/main.tf": cluster}, "the module a makes"},
		"one of the blueprint":                {"  components: [{name: a, module: {inline: {main.tf: 'resource \"helm_release\" \"a\" {}'}}}]\n", nil, "the module of eu/a makes"},
		"it needs nothing":                    {"  components: [{name: a}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "nothing: true\n"}, ""},
		"one of the blueprint needs nothing":  {"  components: [{name: a, module: {inline: {main.tf: 'resource \"helm_release\" \"a\" {}', bundle.yaml: 'nothing: true'}}}]\n", nil, ""},
		"it makes nothing":                    {"  components: [{name: a}]\n", map[string]string{"a/main.tf": provider("random", "hashicorp/random", "3.0.0")}, ""},
		"a network makes nothing that boots":  {"", nil, ""},
		"an empty declaration":                {"  components: [{name: a}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "images: []\n"}, "it declares nothing"},
		"nothing, and something":              {"  components: [{name: a}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "nothing: true\nimages: [a]\n"}, "and declares something"},
		"an unknown variable":                 {"  components: [{name: a}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "images: ['a:${tag}']\n"}, "neither the blueprint has the variable tag"},
		"manifests that are not there":        {"  components: [{name: a}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "manifests: [manifests]\n"}, "a/manifests has no manifests"},
		"manifests that are not YAML":         {"  components: [{name: a}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "manifests: [m.yaml]\n", "a/m.yaml": "a: [\n"}, "read a/m.yaml"},
		"manifests elsewhere":                 {"  components: [{name: a}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "manifests: [../../etc]\n"}, "is not below the module"},
		"a file outside":                      {"  components: [{name: a}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "files: [{path: ../x, url: 'https://example.org/x', sha256: ab}]\n"}, "needs a path below"},
		"a file without encryption":           {"  components: [{name: a}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "files: [{path: x, url: 'http://example.org/x', sha256: ab}]\n"}, "https URLs"},
		"files for other platforms":           {"  components: [{name: a}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "files: [{path: x, url: 'https://example.org/x', sha256: ab, platform: linux_arm64}]\n"}, "it has files for linux_arm64, and the bundle is for linux_amd64"},
		"files that are not needed":           {"  components: [{name: a, variables: {u: ''}}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "files: [{path: x, url: 'https://example.org/x', sha256: ab, platform: linux_arm64, unlessEmpty: u}]\n"}, ""},
		"an image of a Secret":                {"  components: [{name: a, variablesFrom: [{name: more}]}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "images: ['a:${server.tag}']\ndefaults: {server.tag: v1}\n"}, "the variable server may come from the Secret more"},
		"manifests of a Secret":               {"  components: [{name: a, variablesFrom: [{name: more}]}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "manifestVariables: [m]\n"}, "the variable m may come from the Secret more"},
		"a Secret with other variables":       {"  components: [{name: a, variables: {server: {tag: v2}}, variablesFrom: [{name: more}]}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "images: ['a:${server.tag}', b]\n"}, ""},
		"a Secret, and nothing of a variable": {"  components: [{name: a, variablesFrom: [{name: more}]}]\n", map[string]string{"a/main.tf": cluster, "a/bundle.yaml": "images: [a]\n"}, ""},
		"manifests of a module without files": {"  components: [{name: a, module: {inline: {main.tf: 'resource \"helm_release\" \"a\" {}', bundle.yaml: 'charts: [a.tgz]'}}}]\n", nil, "has no files for charts"},
	} {
		t.Run(sentence, func(t *testing.T) {
			files := maps.Clone(machines)
			maps.Copy(files, test.files)
			if files["local/machines/bundle.yaml"] == "" {
				delete(files, "local/machines/bundle.yaml")
			}
			_, _, err := contentOfFiles(t, bundled+test.more, files)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("want %q, got %v", test.want, err)
			}
		})
	}
}

const airGapped = `apiVersion: yuba.dev/v1alpha1
kind: Platform
metadata: {name: acme}
spec:
  organization: {name: acme}
  domain: {fqdn: acme.example.org}
  airGap: true
  library: {sourceRef: {kind: ExternalArtifact, name: modules}}
  regions: [{name: eu, provider: hetzner}]
  phases:
  - {name: machines, variables: {kubernetes: {version: v1.35.1+k3s1, binary_url: "https://mirror.corp.example/k3s/v1.35.1%2Bk3s1"}}}
  - {name: kubernetes, variables: {image: "registry.corp.example/pause:4"}}
  - name: gitops
    variables:
      manifests:
      - "kind: Deployment\nspec: {template: {spec: {containers: [{image: 'ghcr.io/fluxcd/source-controller:v1.9.5'}]}}}"
  components: [{name: vault, variables: {server: {replicas: 1}}}, {name: yuba}]
`

// The modules of a platform declare all that they need: the program and the images of k3s in the version of the blueprint, and the
// images of manifests.
func TestTheModulesOfAPlatformDeclareWhatTheyNeed(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(tofutest.RepositoryRoot(t), "examples", "platform", "modules"))); err != nil {
		t.Fatal(err)
	}
	b, problems, err := blueprint.Read([]byte(airGapped))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	b.Platform.Name = "acme"
	platforms := []string{"linux_arm64"}
	if _, err := contentOf(t.Context(), b.Platform, dir, platforms, func(string, ...any) {}); err == nil || !strings.Contains(err.Error(), "yuba/manifests has no manifests") {
		t.Errorf("without the chart of Yuba: %v", err)
	}
	manifest := filepath.Join(dir, "yuba", "manifests", "yuba.yaml")
	if err := os.MkdirAll(filepath.Dir(manifest), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, []byte("kind: Namespace\n---\nkind: Deployment\nspec: {template: {spec: {containers: [{image: 'ghcr.io/yuba-dev/yuba:v1', args: [controller, --runner-image=ghcr.io/yuba-dev/yuba-runner:v1]}]}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := contentOf(t.Context(), b.Platform, dir, platforms, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	images := []string{"docker.io/hashicorp/vault:1.21.4", "ghcr.io/fluxcd/source-controller:v1.9.5", "ghcr.io/yuba-dev/yuba-runner:v1", "ghcr.io/yuba-dev/yuba:v1", "registry.corp.example/pause:4"}
	if diff := cmp.Diff(images, c.Images); diff != "" {
		t.Error(diff)
	}
	release := "https://github.com/k3s-io/k3s/releases/download/v1.35.1%2Bk3s1/"
	files := []bundle.Fetch{
		{Path: "k3s/v1.35.1+k3s1/k3s-arm64", URL: release + "k3s-arm64", Sums: release + "sha256sum-arm64.txt"},
		{Path: "k3s/v1.35.1+k3s1/k3s-airgap-images-arm64.tar.zst", URL: release + "k3s-airgap-images-arm64.tar.zst", Sums: release + "sha256sum-arm64.txt"},
	}
	if diff := cmp.Diff(files, c.Files); diff != "" {
		t.Error(diff)
	}
	// Every root module of the library that makes something has a declaration that can be read.
	names, err := filepath.Glob(filepath.Join(dir, "*", "machines"))
	if err != nil || len(names) < 4 {
		t.Fatal(names, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close() //nolint:errcheck // only read
	for _, name := range append(names, "kubernetes", "gitops", "vault", "yuba") {
		name = strings.TrimPrefix(name, dir+"/")
		if d, err := readDeclaration(root, name); d == nil || err != nil {
			t.Errorf("%s: %+v %v", name, d, err)
		}
	}
}

// Secrets override the variables of a blueprint: what a bundle has must not depend on what they replace.
func TestASecretOverridesTheBlueprint(t *testing.T) {
	for sentence, test := range map[string]struct {
		spec      infrav1.TerraformSpec
		set       bool
		fails     string
		warns     bool
		wantImage string
	}{
		"a key, and the blueprint":         {spec: infrav1.TerraformSpec{VarsFrom: []infrav1.VarsReference{{Kind: "Secret", Name: "more", VarsKeys: []string{"image"}}}}, set: true, fails: "the variable image comes from the Secret more, which overrides the blueprint"},
		"a renamed key, and the blueprint": {spec: infrav1.TerraformSpec{VarsFrom: []infrav1.VarsReference{{Kind: "Secret", Name: "more", VarsKeys: []string{"tag:image"}}}}, set: true, fails: "the variable image comes from the Secret more"},
		"a key after a whole Secret":       {spec: infrav1.TerraformSpec{VarsFrom: []infrav1.VarsReference{{Kind: "Secret", Name: "all"}, {Kind: "Secret", Name: "more", VarsKeys: []string{"image"}}}}, set: true, fails: "the variable image comes from the Secret more"},
		"a key that is renamed away":       {spec: infrav1.TerraformSpec{VarsFrom: []infrav1.VarsReference{{Kind: "Secret", Name: "more", VarsKeys: []string{"image:other"}}}}, set: true, wantImage: "a:1"},
		"a whole Secret":                   {spec: infrav1.TerraformSpec{VarsFrom: []infrav1.VarsReference{{Kind: "Secret", Name: "more"}}}, fails: "the variable image may come from the Secret more"},
		"a whole Secret, and the blueprint": {spec: infrav1.TerraformSpec{VarsFrom: []infrav1.VarsReference{{Kind: "Secret", Name: "more"}}}, set: true, warns: true,
			wantImage: "a:1"},
		"the blueprint alone": {set: true, wantImage: "a:1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			step, c, warned := plan.Step{Spec: test.spec}, bundle.Content{}, ""
			if test.set {
				step.Spec.Vars = []infrav1.Variable{{Name: "image", Value: &apiextensionsv1.JSON{Raw: []byte(`"a:1"`)}}}
			}
			d := &declaration{Images: []string{"${image}"}}
			err := d.addTo(&c, step, []string{"linux_amd64"}, func(format string, args ...any) { warned += fmt.Sprintf(format, args...) })
			if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("want %q, got %v", test.fails, err)
			}
			if strings.Contains(warned, "If the Secret more has the key image, it overrides the blueprint") != test.warns || strings.Join(c.Images, " ") != test.wantImage {
				t.Errorf("warned %q, images %v", warned, c.Images)
			}
		})
	}
}
