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
