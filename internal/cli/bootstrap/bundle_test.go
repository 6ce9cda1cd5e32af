// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/platform/blueprint"
	"github.com/yuba-dev/yuba/internal/registry/bundle"
)

const bundled = `apiVersion: yuba.dev/v1alpha1
kind: Platform
metadata: {name: acme}
spec:
  organization: {name: acme}
  domain: {fqdn: acme.example.org}
  library: {sourceRef: {kind: ExternalArtifact, name: modules}}
  regions: [{name: eu, provider: local}]
  phases: [{name: kubernetes, disabled: true}, {name: gitops, disabled: true}]
`

// contentOfFiles is what a blueprint needs, with these files as its modules.
func contentOfFiles(t *testing.T, text string, files map[string]string) (bundle.Content, string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, problems, err := blueprint.Read([]byte(text))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	b.Platform.Name = "acme"
	c, err := contentOf(t.Context(), b.Platform, dir, []string{"linux_amd64"}, func(string, ...any) {})
	return c, dir, err
}

func provider(name, source, version string) string {
	return "terraform {\n  required_providers {\n    " + name + " = {\n      source = \"" + source + "\"\n      version = \"" + version + "\"\n    }\n  }\n}\n"
}

func TestABundleHasWhatTheBlueprintUses(t *testing.T) {
	c, dir, err := contentOfFiles(t, bundled+"  components:\n  - {name: vault}\n  - {name: own, module: {inline: {main.tf: 'resource \"random_id\" \"a\" {}'}}}\n", map[string]string{
		"local/network/main.tf":      provider("machines", "yuba-dev/machines", "~> 0.1"),
		"local/machines/bundle.yaml": "nothing: true\n",
		"local/machines/main.tf":     "module \"child\" { source = \"../../child\" }\n",
		"child/main.tf":              provider("machines", "yuba-dev/machines", ">= 0.1.2"),
		"vault/main.tf":              provider("helm", "registry.corp.example/tools/helm", "3.0.0"),
		"vault/bundle.yaml":          "images: [docker.io/hashicorp/vault:1.21.4]\ncharts: [charts/vault.tgz]\n",
		"unused/main.tf":             provider("unused", "a/unused", "1.0.0"),
		"unused/bundle.yaml":         "images: [docker.io/unused]\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, constraints := range c.Needs {
		slices.Sort(constraints)
	}
	want := bundle.Content{Modules: []string{dir}, Images: []string{"docker.io/hashicorp/vault:1.21.4"}, Charts: []string{filepath.Join(dir, "vault", "charts", "vault.tgz")}, Needs: map[string][]string{
		"registry.opentofu.org/yuba-dev/machines": {">= 0.1.2", "~> 0.1"}, "registry.corp.example/tools/helm": {"3.0.0"}, "registry.opentofu.org/hashicorp/random": nil,
	}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

// What cannot be in a bundle is said where the Internet is, not behind the air gap.
func TestWhatABundleCannotHave(t *testing.T) {
	local := map[string]string{"local/network/main.tf": "", "local/machines/main.tf": ""}
	for name, test := range map[string]struct {
		more  string
		files map[string]string
		want  string
	}{
		"a module that calls one elsewhere": {"  components: [{name: a}]\n", map[string]string{"a/main.tf": "module \"b\" { source = \"git::https://example.org/b\" }\n"}, "the module a calls modules that are elsewhere"},
		"a module of a registry":            {"  components: [{name: a, module: {registry: {source: registry.example.org/acme/portal/kubernetes, version: 1.0.0}}}]\n", nil, "the module of eu/a calls modules that are elsewhere"},
		"a module of another source":        {"  components: [{name: a, module: {path: a, sourceRef: {kind: GitRepository, name: other}}}]\n", nil, "eu/a has its module in the GitRepository other"},
		"a chart elsewhere":                 {"  components: [{name: a}]\n", map[string]string{"a/main.tf": "", "a/bundle.yaml": "charts: [../../secret]\n"}, "is not below the module"},
		"a typo":                            {"  components: [{name: a}]\n", map[string]string{"a/main.tf": "", "a/bundle.yaml": "image: [a]\n"}, "unknown field"},
	} {
		files := map[string]string{}
		for _, some := range []map[string]string{local, test.files} {
			for path, text := range some {
				files[path] = text
			}
		}
		if _, _, err := contentOfFiles(t, bundled+test.more, files); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What runs with credentials is from a bundle only if its digest came over another way.
func TestABundleWithABlueprintNeedsItsDigest(t *testing.T) {
	for name, test := range map[string]struct {
		files               []string
		from, modules       string
		digest              bool
		want                string
		fromOwn, modulesOwn string
	}{
		"no digest":                               {files: []string{"manifests/p.yaml", "modules/m/main.tf"}, want: "--bundle-digest"},
		"the digest":                              {files: []string{"manifests/p.yaml", "modules/m/main.tf"}, digest: true, fromOwn: "p.yaml", modulesOwn: "m"},
		"both are the user's":                     {files: []string{"manifests/p.yaml", "modules/m/main.tf"}, from: "a", modules: "b", fromOwn: "a", modulesOwn: "b"},
		"modules of the bundle without digest":    {files: []string{"modules/m/main.tf"}, from: "a", want: "--bundle-digest"},
		"no blueprint in it: one is asked for":    {files: []string{"modules/m/main.tf"}, digest: true, modulesOwn: "m"},
		"several directories, own blueprint":      {files: []string{"modules/m/main.tf", "modules/n/main.tf"}, from: "a", digest: true, fromOwn: "a"},
		"several directories, bundle's blueprint": {files: []string{"manifests/p.yaml", "modules/m/main.tf", "modules/n/main.tf"}, digest: true, want: "--modules DIR"},
	} {
		dir, path := t.TempDir(), filepath.Join(t.TempDir(), "b.tar")
		for _, file := range test.files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte("a"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		summary, err := bundle.Pack(t.Context(), dir, out)
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		digest := ""
		if test.digest {
			digest = summary.Digest
		}
		cmd.Flags().String("bundle", path, "")
		cmd.Flags().String("bundle-digest", digest, "")
		f := &making{from: test.from, modules: test.modules}
		home := filepath.Join(t.TempDir(), "home")
		clean, err := f.unbundle(cmd, home)
		if _, there := os.Lstat(home); there == nil {
			t.Errorf("%s: the new home is not empty", name)
		}
		if err != nil {
			if test.want == "" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		clean()
		base := func(path string) string {
			if path == "" {
				return ""
			}
			return filepath.Base(path)
		}
		if test.want != "" || base(f.from) != test.fromOwn || base(f.modules) != test.modulesOwn {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
