// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package moves

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// tofu runs the real tofu in a directory with a program and, if there is one, a state.
func tofu(t *testing.T, program string, state []byte, args ...string) (out string, after []byte) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "terraform.tfstate")
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"modules/db/main.tf": database} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if state != nil {
		if err := os.WriteFile(file, state, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, list := range [][]string{{"init"}, args} {
		cmd := exec.CommandContext(t.Context(), tofutest.Tofu(t), append(list, "-no-color")...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "CHECKPOINT_DISABLE=1"}
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tofu %s: %v\n%s", strings.Join(list, " "), err, text)
		}
		out = string(text)
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return out, after
}

const database = `
variable "name" { type = string }
resource "terraform_data" "disk" { input = var.name }
resource "terraform_data" "server" {
  input            = terraform_data.disk.output
  triggers_replace = [terraform_data.disk.id]
}
output "server" { value = terraform_data.server.id }
`

// TestTofuSeesNoChanges: a state is split into two and its resources get other addresses; then tofu plans
// no changes for the programs that say so, and destroys in the right order.
func TestTofuSeesNoChanges(t *testing.T) {
	_, whole := tofu(t, `
module "db" {
  for_each = toset(["a", "b c"])
  source   = "./modules/db"
  name     = each.key
}
resource "terraform_data" "net" {
  count = 2
  input = count.index
}
resource "terraform_data" "app" { input = [for n in terraform_data.net : n.id] }
`, nil, "apply", "-auto-approve")
	r, err := Apply(map[string][]byte{"monolith": whole, "db": New("1.12.6", "0d7cf0a5-7a35-4c0b-9e0d-111111111111")}, []Step{
		{Verb: Move, State: "monolith", From: "module.db", ToState: "db", To: "module.database"},
		{Verb: Move, State: "monolith", From: "terraform_data.net[1]", To: `terraform_data.subnet["east"]`},
	})
	if err != nil {
		t.Fatal(err)
	}
	const none = "No changes."
	rest := `
resource "terraform_data" "net" {
  count = 1
  input = count.index
}
resource "terraform_data" "subnet" {
  for_each = toset(["east"])
  input    = 1
}
resource "terraform_data" "app" { input = [terraform_data.net[0].id, terraform_data.subnet["east"].id] }
`
	if out, _ := tofu(t, rest, r.States["monolith"], "plan"); !strings.Contains(out, none) {
		t.Errorf("the rest:\n%s", out)
	}
	split := `
module "database" {
  for_each = toset(["a", "b c"])
  source   = "./modules/db"
  name     = each.key
}
`
	if out, _ := tofu(t, split, r.States["db"], "plan"); !strings.Contains(out, none) {
		t.Errorf("what was split off:\n%s", out)
	}
	if len(r.Moved) != 5 {
		t.Errorf("%+v", r.Moved)
	}
	out, _ := tofu(t, "", r.States["db"], "apply", "-auto-approve")
	server, disk := strings.Index(out, `module.database["a"].terraform_data.server: Destruction complete`), strings.Index(out, `module.database["a"].terraform_data.disk: Destroying`)
	if server < 0 || disk < server {
		t.Errorf("the disk goes before its server:\n%s", out)
	}
}
