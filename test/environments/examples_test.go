// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// page is the page with the table of recipes.
const page = "docs/how-to/environments-by-name.md"

// recipe is a row of the table: what just calls, and the command in place of it.
var recipe = regexp.MustCompile("(?m)^\\| `just ([^`]+)` \\| `yuba (env [^`]+)` \\|")

// The recipes of the first column that there are; those of secrets have another command.
var recipes = []string{"tofu init ENV", "tofu validate ENV", "tofu plan ENV", "tofu apply ENV", "tofu output ENV", "tofu destroy ENV", "tofu apply-auto ENV", "tofu destroy-auto ENV",
	"tofu fmt", "tofu fmt-check", "tofu test", "tofu test-module MODULE", "infra-local", "infra-local-destroy"}

// Each command of the table works, in its order.
func TestTheRecipesOfJust(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(tofutest.RepositoryRoot(t), page))
	if err != nil {
		t.Fatal(err)
	}
	p := newPerson(t, "environments")
	flags := p.standins()
	p.write("environments/kubernetes/terraform.tfvars", "namespace = \"shop\"\nimages = { order = \"o\", inventory = \"i\" }\n")
	var seen []string
	for _, row := range recipe.FindAllStringSubmatch(string(text), -1) {
		seen = append(seen, row[1])
		p.must(append(strings.Fields(row[2]), flags...)...)
	}
	slices.Sort(seen)
	want := slices.Clone(recipes)
	slices.Sort(want)
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("the table lacks recipes, or has others (-want +got):\n%s", diff)
	}
}

func TestTheExamplesAreValidAndFormatted(t *testing.T) {
	p := newPerson(t, "environments")
	flags := p.standins()
	a := p.must(append([]string{"env", "validate"}, flags...)...)
	if got := strings.Count(a.out, ": valid\n"); got != 6 {
		t.Errorf("%d are valid:\n%s", got, a.all())
	}
	p.must("env", "fmt", "--check")
	p.must("modules", "check")
	var left []string
	err := filepath.WalkDir(p.dir, func(name string, _ os.DirEntry, err error) error {
		if base := filepath.Base(name); base == ".terraform" || base == ".terraform.lock.hcl" {
			left = append(left, name)
		}
		return err
	})
	if err != nil || len(left) > 0 {
		t.Errorf("validate left %v, %v", left, err)
	}
}

func TestTheExamplesTestThemselvesWithMocks(t *testing.T) {
	p := newPerson(t, "environments")
	p.ends(0, []string{"6 directories tested, 0 failed"}, append([]string{"env", "test"}, p.standins()...)...)
}

// A failing test of a module fails the command.
func TestAFailingTestFails(t *testing.T) {
	p := newPerson(t, "environments")
	p.write("modules/stack/tests/wrong.tftest.hcl", "variables {\n  name = \"x\"\n  compute = \"standalone\"\n  domains = {}\n}\nrun \"wrong\" {\n  assert {\n    condition = output.topology_mermaid == \"no\"\n    error_message = \"it is another one\"\n  }\n}\n")
	p.ends(1, []string{"it is another one", "1 failed: modules/stack"}, "env", "test", "modules/stack")
}

func TestStandaloneIsAppliedAndDestroyed(t *testing.T) {
	p := newPerson(t, "environments")
	p.ends(0, []string{"Initialising standalone.", "Apply complete!"}, "env", "apply", "standalone", "--yes")
	p.ends(0, []string{"order --> inventory"}, "env", "output", "standalone", "topology_mermaid")
	p.ends(0, []string{"http://127.0.0.1:7000"}, "env", "output", "standalone", "entry_points")
	p.ends(0, []string{"No changes."}, "env", "plan", "standalone", "--detailed-exitcode")
	p.ends(0, []string{"module.order.terraform_data.component[\"aggregate\"]"}, "env", "tofu", "standalone", "state", "list")
	p.ends(0, nil, "env", "destroy", "standalone", "--yes")
	if a := p.must("env", "tofu", "standalone", "state", "list"); strings.TrimSpace(a.out) != "" {
		t.Errorf("left:\n%s", a.out)
	}
}

// All domain modules take the same arguments, so that a system changes its target by changing modules.
func TestAllTargetsHaveTheSameInterface(t *testing.T) {
	root := filepath.Join(tofutest.RepositoryRoot(t), "examples", "environments", "modules")
	want, err := os.ReadFile(filepath.Join(root, "standalone-domain", "interface.tf"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(root, "*-domain", "interface.tf"))
	if err != nil || len(found) != 4 {
		t.Fatal(found, err)
	}
	for _, name := range found {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s differs:\n%s", name, diff)
		}
	}
	for kind, output := range map[string]string{"storage-*": "storage", "bus-*": "bus"} {
		found, err := filepath.Glob(filepath.Join(root, kind, "main.tf"))
		if err != nil || len(found) < 4 {
			t.Fatal(found, err)
		}
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{output, "provides", "requirements"} {
				if !strings.Contains(string(text), "output \""+want+"\"") {
					t.Errorf("%s has no output %s", name, want)
				}
			}
		}
	}
}
