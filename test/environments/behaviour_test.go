// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const shop = `variable "domain" {
  type        = string
  description = "Where the shop is."
}
variable "password" {
  type      = string
  sensitive = true
  default   = "kept-to-myself"
}
resource "terraform_data" "shop" { input = var.domain }
output "url" { value = "https://${terraform_data.shop.output}" }
output "password" {
  value     = var.password
  sensitive = true
}
`

func TestNoCommandWaitsForAnAnswer(t *testing.T) {
	p := newPerson(t, "")
	p.write("environments/staging/main.tf", shop)
	missing := []string{"environments/staging/main.tf:1: the variable \"domain\" has no value (Where the shop is)", "TF_VAR_NAME"}
	for _, args := range [][]string{{"plan"}, {"apply"}, {"destroy"}, {"console"}} {
		p.ends(1, missing, "env", args[0], "staging")
	}
	p.write("environments/staging/terraform.tfvars", "domian = \"x\"\n")
	p.ends(1, []string{"there is a value for \"domian\"", "terraform.tfvars:1: no variable is named \"domian\"; did you mean domain?"}, "env", "plan", "staging")
	p.write("environments/staging/terraform.tfvars", "domain = \"shop.example.org\"\n")
	p.ends(2, []string{"There is no terminal to ask on; confirm with --yes"}, "env", "apply", "staging")
	p.ends(3, []string{"did you mean staging?"}, "env", "plan", "stagin")
	p.write("environments/staging/broken.tf", "resource {\n")
	p.ends(1, []string{"environments/staging/broken.tf:1"}, "env", "plan", "staging")
	p.write("yuba.yaml", "environment: {}\n")
	p.ends(1, []string{"yuba.yaml:1: it cannot have the key \"environment\"; did you mean environments?"}, "env", "list")
}

func TestExitCodesOfPlans(t *testing.T) {
	p := newPerson(t, "")
	p.write("environments/staging/main.tf", shop)
	p.write("environments/staging/terraform.tfvars", "domain = \"shop.example.org\"\n")
	p.ends(0, []string{"1 to add"}, "env", "plan", "staging")
	p.ends(2, []string{"1 to add"}, "env", "plan", "staging", "--detailed-exitcode")
	p.ends(1, []string{"no variable is named \"nobody\""}, "env", "plan", "staging", "--detailed-exitcode", "--var", "nobody=1")
	p.ends(1, []string{"unknown flag"}, "env", "plan", "staging", "--detailed-exitcode", "--nothing")
	p.ends(4, []string{"the plan of staging failed"}, "env", "plan", "staging", "--target", "!")
	a := p.must("env", "plan", "staging", "-o", "json")
	var plan struct {
		Changes []struct{ Address string } `json:"changes"`
	}
	if err := json.Unmarshal([]byte(a.out), &plan); err != nil || len(plan.Changes) != 1 || plan.Changes[0].Address != "terraform_data.shop" {
		t.Errorf("%v %+v\n%s", err, plan, a.out)
	}
	if strings.Contains(a.all(), "kept-to-myself") {
		t.Error("the plan shows a sensitive value")
	}
	saved := filepath.Join(t.TempDir(), "p.tfplan")
	p.must("env", "plan", "staging", "--out", saved)
	if info, err := os.Stat(saved); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	p.ends(0, []string{"1 added"}, "env", "apply", "staging", saved)
	p.ends(4, []string{"stale"}, "env", "apply", "staging", saved)
	p.ends(0, nil, "env", "plan", "staging", "--detailed-exitcode")
	if a := p.must("env", "output", "staging", "url"); a.out != "https://shop.example.org\n" {
		t.Errorf("got %q", a.out)
	}
	for _, args := range [][]string{{"env", "output", "staging"}, {"env", "output", "staging", "-o", "json"}} {
		if a := p.must(args...); strings.Contains(a.all(), "kept-to-myself") {
			t.Errorf("%v shows a sensitive value:\n%s", args, a.all())
		}
	}
	p.ends(3, []string{"has no output \"uri\""}, "env", "output", "staging", "uri")
}

// The program of an environment reads the repository and writes its own directory, and nothing else.
func TestProgramsAreConfined(t *testing.T) {
	p := newPerson(t, "")
	secret := filepath.Join(p.home, ".ssh", "id_ed25519")
	if err := os.MkdirAll(filepath.Dir(secret), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, []byte("a private key"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.write("shared.txt", "of the repository")
	p.write("environments/thief/main.tf", "output \"key\" {\n  value = file(\""+secret+"\")\n}\n")
	p.write("environments/honest/main.tf", "output \"text\" {\n  value = file(\"../../shared.txt\")\n}\n")
	p.write("environments/vandal/main.tf", "resource \"terraform_data\" \"x\" {\n  provisioner \"local-exec\" {\n    command = \"echo spoilt > ../../shared.txt\"\n  }\n}\n")
	p.write("environments/nosy/main.tf", "resource \"terraform_data\" \"x\" {\n  provisioner \"local-exec\" {\n    command = \"env\"\n  }\n}\n")
	a := p.yuba("env", "plan", "thief")
	if a.code != 4 || strings.Contains(a.all(), "a private key") || strings.Contains(a.all(), "force-unlock") {
		t.Errorf("%d\n%s", a.code, a.all())
	}
	p.ends(0, []string{"of the repository"}, "env", "plan", "honest")
	p.ends(0, []string{"a private key"}, "env", "plan", "thief", "--readable", secret)
	p.ends(0, []string{"a private key"}, "env", "plan", "thief", "--unconfined")
	p.ends(4, []string{"Permission denied"}, "env", "apply", "vandal", "--yes")
	if text, err := os.ReadFile(filepath.Join(p.dir, "shared.txt")); err != nil || string(text) != "of the repository" {
		t.Errorf("%s %v", text, err)
	}
	p.env = append(p.env, "AWS_SECRET_ACCESS_KEY=of-another-program", "SOMETHING=named")
	if a := p.ends(0, []string{"SOMETHING=named"}, "env", "apply", "nosy", "--yes", "--pass", "SOMETHING"); strings.Contains(a.all(), "of-another-program") {
		t.Error("it saw credentials of a provider that it does not use")
	}
}

// A root module beside .git cannot change what git runs, and the whole repository can be formatted.
func TestTheRootOfARepositoryKeepsItsGit(t *testing.T) {
	p := newPerson(t, "")
	p.write(".git/config", "mine")
	p.write("main.tf", "variable \"a\" {\ntype=string\n}\n")
	p.write("environments/a/main.tf", "")
	p.ends(0, []string{"main.tf"}, "env", "fmt")
	if text, err := os.ReadFile(filepath.Join(p.dir, "main.tf")); err != nil || !strings.Contains(string(text), "type = string") {
		t.Errorf("%s %v", text, err)
	}
	p.write("yuba.yaml", "environments: {root: {path: .}}\n")
	p.write("main.tf", "resource \"terraform_data\" \"x\" {\n  provisioner \"local-exec\" {\n    command = \"echo spoilt > .git/config\"\n  }\n}\n")
	p.ends(4, []string{"ermission denied", "move the root module to a directory of its own"}, "env", "apply", "root", "--yes")
	if text, err := os.ReadFile(filepath.Join(p.dir, ".git", "config")); err != nil || string(text) != "mine" {
		t.Errorf("%s %v", text, err)
	}
	p.write("yuba.yaml", "environments: {a: {writable: [.git/hooks]}}\n")
	p.ends(1, []string{"is in .git"}, "env", "plan", "a")
}

// Links in a repository make Yuba neither write nor read elsewhere.
func TestLinksOfARepositoryLeadNowhere(t *testing.T) {
	p := newPerson(t, "")
	for name, text := range map[string]string{".bashrc": "mine", "templates/module/stolen.tf": "# mine", "keys/key": "mine"} {
		at := filepath.Join(p.home, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.write("environments/a/main.tf", "")
	p.write("environments/a/.terraform/keep", "")
	p.write("environments/b/main.tf", "resource \"terraform_data\" \"x\" {\n  provisioner \"local-exec\" {\n    command = \"echo spoilt > ../../generated/key\"\n  }\n}\n")
	p.write("yuba.yaml", "environments: {b: {writable: [generated]}}\n")
	for from, to := range map[string]string{"environments/a/.terraform/yuba-init": ".bashrc", "generated": "keys", ".yuba": "."} {
		if err := os.Symlink(filepath.Join(p.home, to), filepath.Join(p.dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	p.ends(1, []string{"escapes"}, "env", "plan", "a")
	p.ends(1, []string{"escapes"}, "env", "apply", "b", "--yes")
	p.ends(1, []string{"escapes"}, "new", "module", "stolen")
	for name, want := range map[string]string{".bashrc": "mine", "keys/key": "mine"} {
		if text, err := os.ReadFile(filepath.Join(p.home, name)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
}

// Ctrl-C asks tofu to stop: the state has what was made, and nothing else is begun.
func TestAnInterruptedApplyKeepsItsState(t *testing.T) {
	p := newPerson(t, "")
	p.write("environments/slow/main.tf", `resource "terraform_data" "first" {
  provisioner "local-exec" {
    command = "touch begun; while ! test -e go-on; do sleep 0.05; done"
  }
}
resource "terraform_data" "second" {
  depends_on = [terraform_data.first]
}
`)
	ctx, cancel := context.WithTimeout(t.Context(), commandTimeout)
	defer cancel()
	cmd, _, problems := p.command(ctx, "env", "apply", "slow", "--yes")
	watched := &watched{}
	cmd.Stdout = watched
	p.begin(ctx, cmd, "environments/slow/begun")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	// tofu says that it stops once it has the signal; only then the provisioner may end.
	for !strings.Contains(watched.String(), "Interrupt received") {
		if ctx.Err() != nil {
			t.Fatalf("it does not stop\n%s%s", watched, problems)
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.write("environments/slow/go-on", "")
	_ = cmd.Wait() //nolint:errcheck // its code follows
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("it ended with %d\n%s%s", code, watched, problems)
	}
	if !strings.Contains(problems.String(), "Asked tofu to stop") {
		t.Errorf("it says:\n%s", problems)
	}
	if list := p.must("env", "tofu", "slow", "state", "list").out; !strings.Contains(list, "terraform_data.first") {
		t.Errorf("the state has %q", list)
	}
}

// A backend that changed under a state is never taken silently.
func TestABackendThatChangedIsSaid(t *testing.T) {
	p := newPerson(t, "")
	p.write("environments/staging/main.tf", "terraform {\n  backend \"local\" {\n    path = \"one.tfstate\"\n  }\n}\nresource \"terraform_data\" \"x\" {}\n")
	p.must("env", "apply", "staging", "--yes")
	p.write("environments/staging/main.tf", "terraform {\n  backend \"local\" {\n    path = \"two.tfstate\"\n  }\n}\nresource \"terraform_data\" \"x\" {}\n")
	p.ends(4, []string{"yuba env init staging --migrate-state"}, "env", "plan", "staging")
	p.must("env", "init", "staging", "--migrate-state")
	p.ends(0, nil, "env", "plan", "staging", "--detailed-exitcode")
}

// What init installed and was told stays true, or init runs again with what it was told.
func TestInitRunsAgainAsItWasAsked(t *testing.T) {
	p := newPerson(t, "")
	program := "terraform {\n  backend \"local\" {%s}\n}\nresource \"terraform_data\" \"x\" {}\n"
	p.write("environments/staging/main.tf", fmt.Sprintf(program, ""))
	p.must("env", "init", "staging", "--backend-config", "path=told.tfstate")
	p.must("env", "apply", "staging", "--yes")
	const install = ".terraform/providers/a.example/b/c/1.0.0"
	p.write("environments/staging/"+install+"/keep", "")
	if err := os.Symlink("/nowhere", filepath.Join(p.dir, "environments/staging", install, "linux_amd64")); err != nil {
		t.Fatal(err)
	}
	p.ends(0, []string{"Initialising staging"}, "env", "plan", "staging", "--detailed-exitcode")
	p.write("environments/staging/main.tf", fmt.Sprintf(program, "\n    workspace_dir = \"all\"\n  "))
	p.ends(4, []string{"--migrate-state"}, "env", "plan", "staging")
	p.must("env", "init", "staging", "--reconfigure", "--backend-config", "path=told.tfstate")
	p.ends(0, nil, "env", "plan", "staging", "--detailed-exitcode")
	p.write("settings", "path = \"told.tfstate\"\n")
	p.must("env", "init", "staging", "--backend-config", "settings")
	p.write("environments/staging/main.tf", fmt.Sprintf(program, ""))
	p.ends(6, []string{"--backend-config FILE"}, "env", "plan", "staging")
}

// watched is output that a test reads while it is written.
type watched struct {
	mu  sync.Mutex
	all strings.Builder
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.Write(b)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

func TestALockShowsItsHolder(t *testing.T) {
	p := newPerson(t, "")
	p.write("environments/staging/main.tf", "resource \"terraform_data\" \"x\" {\n  provisioner \"local-exec\" {\n    command = \"touch begun; while ! test -e go-on; do sleep 0.05; done\"\n  }\n}\n")
	ctx, cancel := context.WithTimeout(t.Context(), commandTimeout)
	defer cancel()
	cmd, out, problems := p.command(ctx, "env", "apply", "staging", "--yes")
	p.begin(ctx, cmd, "environments/staging/begun")
	p.ends(4, []string{"Error acquiring the state lock", "Who:", "yuba env tofu staging force-unlock"}, "env", "plan", "staging")
	p.write("environments/staging/go-on", "")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s%s", err, out, problems)
	}
}

// begin starts a command, and returns once it has made a file.
func (p *person) begin(ctx context.Context, cmd *exec.Cmd, name string) {
	p.t.Helper()
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	for {
		_, err := os.Stat(filepath.Join(p.dir, name))
		state, gone := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		switch {
		case err == nil:
			return
		case ctx.Err() != nil || gone != nil || strings.Contains(string(state), ") Z "):
			_ = cmd.Wait() //nolint:errcheck // it failed
			p.t.Fatalf("it ended before it began\n%s%s", cmd.Stdout, cmd.Stderr)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
