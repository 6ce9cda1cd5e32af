// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What "yuba new" writes is formatted, fits, is valid, and its tests pass.
func TestNewFilesPassAllChecks(t *testing.T) {
	p := newPerson(t, "")
	flags := p.standins()
	for _, target := range strings.Fields(p.must("env", "targets", "-o", "name").out) {
		p.must("new", "environment", "on-"+target, "--target", target)
	}
	for _, kind := range []string{"module", "stack", "target", "contract"} {
		p.must("new", kind, "my-"+kind)
	}
	p.must("env", "fmt", "--check")
	p.ends(0, []string{"everything fits"}, "modules", "check")
	a := p.must(append([]string{"env", "validate"}, flags...)...)
	if got := strings.Count(a.out, ": valid\n"); got != 7 {
		t.Errorf("%d are valid:\n%s", got, a.all())
	}
	p.ends(0, []string{"1 directories tested, 0 failed"}, "env", "test")
	for _, dir := range []string{"modules/my-module", "stacks/my-stack", "contracts/my-contract"} {
		p.write("yuba.yaml", "environments: {one: {path: "+dir+"}}")
		p.must("env", "validate", "one")
	}
}

func TestNewReplacesNothing(t *testing.T) {
	p := newPerson(t, "")
	p.must("new", "module", "shop")
	p.ends(1, []string{"modules/shop/README.md is there already"}, "new", "module", "shop")
	p.ends(2, []string{"is not valid"}, "new", "module", "../shop")
	p.ends(2, []string{"the targets are standalone"}, "new", "environment", "x", "--target", "mars")
}

func TestTemplatesOfOnesOwn(t *testing.T) {
	p := newPerson(t, "")
	p.write(".yuba/templates/module/modules/@NAME@/main.tf", "# the repository's @NAME@ on @TARGET@\n")
	p.must("new", "module", "shop", "--target", "eks")
	text, err := os.ReadFile(filepath.Join(p.dir, "modules/shop/main.tf"))
	if err != nil || string(text) != "# the repository's shop on eks\n" {
		t.Errorf("%s %v", text, err)
	}
	p.must("new", "stack", "shop") // ours, as there is none
	templates := filepath.Join(t.TempDir(), "templates")
	if err := os.MkdirAll(filepath.Join(templates, "module"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(templates, "module", "@NAME@.tf"), []byte("# from git\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "x"}} {
		git := exec.Command("git", args...)
		git.Dir, git.Env = templates, append(p.env, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	p.must("new", "module", "fromgit", "--from", "file://"+templates)
	if text, err := os.ReadFile(filepath.Join(p.dir, "fromgit.tf")); err != nil || string(text) != "# from git\n" {
		t.Errorf("%s %v", text, err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(templates, "module", "stolen.tf")); err != nil {
		t.Fatal(err)
	}
	p.ends(1, []string{"stolen.tf is not a regular file"}, "new", "module", "other", "--from", templates)
	p.ends(1, []string{"neither a directory nor the address"}, "new", "module", "other", "--from", "nowhere")
}

const strictPolicy = `apiVersion: yuba.dev/v1alpha1
kind: Policy
metadata: {name: strict}
spec:
  selector: {}
  rules:
  - builtin: no-destroy
  - builtin: no-external-data
  - builtin: no-forget
  - builtin: no-iam
  - builtin: no-provisioners
  - builtin: no-replace
  - builtin: pinned-versions
  onViolation: deny
  autoApprove: true
`

// What "yuba new" writes also passes policies: all rules that need no parameters, each as a reason to refuse.
func TestNewFilesPassPolicy(t *testing.T) {
	p := newPerson(t, "")
	flags := p.standins()
	names := []string{"my-target"}
	p.must("new", "target", "my-target")
	for _, target := range strings.Fields(p.must("env", "targets", "-o", "name").out) {
		names = append(names, "on-"+target)
		p.must("new", "environment", "on-"+target, "--target", target)
	}
	p.must("new", "stack", "my-stack")
	p.must("new", "contract", "my-contract")
	p.write("yuba.yaml", "environments: {my-stack: {path: stacks/my-stack}, my-contract: {path: contracts/my-contract}}")
	tests := "apiVersion: policy.yuba.dev/v1\nkind: PolicyTest\ntests:\n"
	for _, name := range append(names, "my-stack", "my-contract") {
		dir := filepath.Join("environments", name)
		if kind, ok := strings.CutPrefix(name, "my-"); ok && kind != "target" {
			dir = filepath.Join(kind+"s", name)
		}
		if values, err := os.ReadFile(filepath.Join(p.dir, dir, "terraform.tfvars.example")); err == nil {
			p.write(filepath.Join(dir, "terraform.tfvars"), string(values))
		}
		p.must(append([]string{"env", "plan", name, "--out", name + ".tfplan"}, flags...)...)
		if err := os.Rename(filepath.Join(p.dir, name+".tfplan"), filepath.Join(p.dir, dir, "p.tfplan")); err != nil {
			t.Fatal(err)
		}
		shown := p.must(append(append([]string{"env", "tofu"}, flags...), name, "show", "-json", "p.tfplan")...).out
		p.write("policies/"+name+".json", shown)
		tests += "- {name: " + name + ", plan: " + name + ".json, "
		if lock, err := os.ReadFile(filepath.Join(p.dir, dir, ".terraform.lock.hcl")); err == nil {
			p.write("policies/"+name+".lock.hcl", string(lock))
			tests += "lockFile: " + name + ".lock.hcl, "
		}
		tests += "expect: {decision: Freed}}\n"
	}
	p.write("policies/strict.yaml", strictPolicy)
	p.write("policies/test.yaml", tests)
	p.must("policy", "test", "policies", "-v")
	// The test can fail: a program that runs others is refused.
	p.write("stacks/my-stack/more.tf", "resource \"terraform_data\" \"more\" {\n  provisioner \"local-exec\" { command = \"true\" }\n}\n")
	p.must("env", "tofu", "my-stack", "plan", "-out=p.tfplan")
	p.write("policies/my-stack.json", p.must("env", "tofu", "my-stack", "show", "-json", "p.tfplan").out)
	p.ends(1, []string{"no-provisioners"}, "policy", "test", "policies", "-v")
}
