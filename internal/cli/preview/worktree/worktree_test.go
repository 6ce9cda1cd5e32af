// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package worktree

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
)

// clone is a repository with one commit.
func clone(t *testing.T) (dir string, git func(args ...string) string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, "none"))
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o700); err != nil {
		t.Fatal(err)
	}
	git = func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		command.Dir = tree
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	write(t, tree, map[string]string{"net/main.tf": "# net\n", "app/main.tf": "# app\n", "gone.tf": "#\n", ".gitignore": "*.log\n", "README.md": "x", "secret.auto.tfvars": "a"})
	git("add", "-A")
	git("commit", "-qm", "one")
	return tree, git
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func names(s *Source) []string { return slices.Sorted(maps.Keys(s.Tree.Sums)) }

func TestTheWorkingTreeIsComparedWithACommit(t *testing.T) {
	dir, git := clone(t)
	write(t, dir, map[string]string{"net/main.tf": "# changed\n", "new dir/ü.tf": "# new\n", "app/run.log": "ignored", ".terraform/x.tf": "never", "x.tfstate": "never"})
	if err := os.Remove(filepath.Join(dir, "gone.tf")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("main.tf", filepath.Join(dir, "app", "link.tf")); err != nil {
		t.Fatal(err)
	}
	git("add", "new dir")
	status := git("status", "--porcelain")
	r, err := Open(t.Context(), filepath.Join(dir, "net"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := r.WorkingTree(t.Context(), "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	head, err := r.Resolve(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	before, err := r.Commit(t.Context(), head, "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".gitignore", "app/link.tf", "app/main.tf", "net/main.tf", "new dir/ü.tf", "secret.auto.tfvars"}
	// Flux leaves .gitignore out.
	if diff := cmp.Diff(want[1:], names(after)); diff != "" {
		t.Errorf("the working tree: %s", diff)
	}
	if diff := cmp.Diff([]string{"app/link.tf", "gone.tf", "net/main.tf", "new dir/ü.tf"}, discover.Changed(before.Tree, after.Tree)); diff != "" {
		t.Errorf("what differs: %s", diff)
	}
	if text := string(after.Tree.Config("net")["main.tf"]); text != "# changed\n" {
		t.Errorf("net/main.tf: %q", text)
	}
	packed, err := after.Open()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := Stored(t.Context(), packed)
	if err != nil || packed.Close() != nil || len(discover.Changed(stored.Tree, after.Tree)) > 0 {
		t.Errorf("a stored source differs: %v", err)
	}
	for _, s := range []*Source{before, after, stored} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if now := git("status", "--porcelain"); now != status {
		t.Errorf("the index has changed:\n%s\nwas:\n%s", now, status)
	}
}

func TestCommitsAndBranches(t *testing.T) {
	dir, git := clone(t)
	git("remote", "add", "origin", "git@example.com:acme/infra.git")
	git("remote", "add", "mirror", "https://user:s3cret@mirror.example.com/acme/infra")
	first := git("rev-parse", "HEAD")
	git("switch", "-qc", "feature")
	write(t, dir, map[string]string{"app/main.tf": "# feature\n"})
	git("commit", "-qam", "two")
	second := git("rev-parse", "HEAD")
	git("switch", "-q", "main")
	git("commit", "-q", "--allow-empty", "-m", "three")
	git("update-ref", "refs/remotes/origin/main", "HEAD")
	git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
	ctx := t.Context()
	r, err := Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Addresses(ctx); !slices.Contains(got, "example.com/acme/infra") || !slices.Contains(got, "mirror.example.com/acme/infra") || !slices.Contains(got, r.Root) || len(got) != 3 {
		t.Errorf("addresses: %q", got)
	}
	base, err := r.MergeBase(ctx, "feature", "main")
	if err != nil || base != first {
		t.Errorf("merge base: %s, %v", base, err)
	}
	if got, err := r.Resolve(ctx, "feature"); got != second || err != nil {
		t.Errorf("feature: %s, %v", got, err)
	}
	for _, name := range []string{"", "--all", "nowhere", "feature..main", strings.Repeat("0", 40)} {
		if got, err := r.Resolve(ctx, name); err == nil {
			t.Errorf("%q is %s", name, got)
		}
	}
	if r.Branch(ctx) != "main" || r.DefaultBranch(ctx) != "main" || !r.Has(ctx, second) || r.Has(ctx, strings.Repeat("1", 40)) ||
		!r.Contains(ctx, second, first) || r.Contains(ctx, second, git("rev-parse", "main")) {
		t.Error("branches and commits are not as they are")
	}
	if _, err := Open(ctx, t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not in the working tree of a git repository") {
		t.Errorf("no repository: %v", err)
	}
}
