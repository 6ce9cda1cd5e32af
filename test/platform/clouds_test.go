// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/standintest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// clouds are the providers that stand-ins replace here, with versions that the modules accept.
var clouds = map[string]standintest.Standin{
	"hetzner": {Namespace: "hetznercloud", Name: "hcloud", Version: "1.54.0"},
	"aws":     {Namespace: "hashicorp", Name: "aws", Version: "6.0.0"},
	"oci":     {Namespace: "oracle", Name: "oci", Version: "7.0.0"},
}

// TestCloudModulesWithMocks runs the tests that are beside the modules. The stand-ins refuse what is not in their
// schemas, and the mocks of tofu answer.
func TestCloudModulesWithMocks(t *testing.T) {
	mirror := filepath.Join(t.TempDir(), "mirror")
	var all []standintest.Standin
	for _, s := range clouds {
		all = append(all, s)
	}
	if err := standintest.BuildAs(t, mirror, all); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Abs("testdata/providers.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := modules(t)
	for cloud := range clouds {
		for _, module := range []string{"network", "machines", "dns"} {
			t.Run(cloud+"/"+module, func(t *testing.T) {
				s := newShell(t, mirror, standintest.EnvTables+"="+tables)
				root := filepath.Join(dir, cloud, module)
				s.must(root, "init", "-no-color")
				if out := s.must(root, "test", "-no-color"); !strings.Contains(out, "0 failed") || strings.Contains(out, "0 passed") {
					t.Error(out)
				}
			})
		}
	}
}

var variable = regexp.MustCompile(`(?ms)^variable "([a-z_]+)" \{\n(.*?)^\}`)

// variablesOf reads the names and types of a module's variables.
func variablesOf(t *testing.T, module string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tofutest.RepositoryRoot(t), "examples", "platform", "modules", module, "variables.tf"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, found := range variable.FindAllStringSubmatch(string(text), -1) {
		_, of, _ := strings.Cut(found[2], "type")
		of, _, _ = strings.Cut(of, "\n  d") // default or description
		of, _, _ = strings.Cut(of, "\n  sensitive")
		all[found[1]] = strings.Join(strings.Fields(strings.TrimLeft(of, " =")), " ")
	}
	return all
}

// A platform changes its provider by changing a path.
func TestAllProvidersHaveTheSameInterface(t *testing.T) {
	own := map[string][]string{"oci": {"compartment_id"}, "hetzner/dns": {"zone_name"}}
	for _, module := range []string{"network", "machines", "dns"} {
		want := variablesOf(t, filepath.Join("aws", module))
		if len(want) < 7 {
			t.Fatal("only", want)
		}
		for _, provider := range []string{"local", "hetzner", "oci"} {
			if provider == "local" && module == "dns" {
				continue
			}
			got := variablesOf(t, filepath.Join(provider, module))
			for _, name := range append(slices.Clone(own[provider]), own[provider+"/"+module]...) {
				if _, there := got[name]; !there {
					t.Errorf("%s/%s has no variable %s", provider, module, name)
				}
				delete(got, name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s/%s differs from aws/%s (-aws +%s):\n%s", provider, module, module, provider, diff)
			}
		}
	}
}

// Each module that is a phase documents its variables in the README.
func TestTheReadmeNamesEveryVariable(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(tofutest.RepositoryRoot(t), "examples", "platform", "modules", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"aws/network", "aws/machines", "oci/machines", "hetzner/dns", "kubernetes", "gitops", "vault", "yuba"} {
		for name := range variablesOf(t, module) {
			if !strings.Contains(string(readme), "`"+name+"`") {
				t.Errorf("the README does not name %s of %s", name, module)
			}
		}
	}
}
