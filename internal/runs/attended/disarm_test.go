// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package attended

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestARepositoryThatAProgramMadeIsNone: git, run by a person in the directory, must not obey its settings.
func TestARepositoryThatAProgramMadeIsNone(t *testing.T) {
	const made = "/objects DIR/refs && echo 'ref: refs/heads/main' >DIR/HEAD && printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch %s; false\n' >DIR/config"
	for sentence, test := range map[string]struct{ at, enter, renamed string }{
		"in its directory":     {".git", ".", "made-by-tofu-git-0"},
		"below it":             {"part/.git", "part", "part/made-by-tofu-git-0"},
		"without a .git":       {"bare", "bare", "bare/made-by-tofu-head-0"},
		"of its own directory": {".", ".", "made-by-tofu-head-0"},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := desk(t, nil)
			ran := filepath.Join(t.TempDir(), "ran")
			script := "mkdir -p " + test.at + strings.ReplaceAll(strings.Replace(made, "%s", ran, 1), "DIR", test.at)
			var said []string
			if out, code := does(t, d, Call{Disarmed: func(_, is string) { said = append(said, is) }}, script); code != 0 {
				t.Fatal(out)
			}
			if want := filepath.Join(d.Dir, test.renamed); len(said) != 1 || said[0] != want {
				t.Errorf("renamed %v, want %s", said, want)
			}
			git := exec.CommandContext(t.Context(), "git", "status")
			git.Dir, git.Env = filepath.Join(d.Dir, test.enter), []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(d.Dir)}
			out, err := git.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "not a git repository") {
				t.Errorf("git status: %v %s", err, out)
			}
			if _, err := os.Lstat(ran); err == nil {
				t.Error("git ran a program of the repository")
			}
		})
	}
}

// A program that puts a link in the place of a directory that it may write leads nobody into another one.
func TestNoOtherRepositoryIsRenamed(t *testing.T) {
	d := desk(t, func(o *Options) {
		must(t, os.MkdirAll(filepath.Join(o.Library, ".git", "objects"), 0o755))
		must(t, os.WriteFile(filepath.Join(o.Library, ".git", "HEAD"), []byte("mine"), 0o600))
		o.Writable = []string{filepath.Join(o.Dir, "deep")}
		must(t, os.Mkdir(o.Writable[0], 0o755))
		must(t, os.MkdirAll(filepath.Join(o.Dir, "mine", "objects"), 0o755))
		must(t, os.WriteFile(filepath.Join(o.Dir, "mine", "HEAD"), []byte("mine"), 0o600))
		must(t, os.WriteFile(filepath.Join(o.Dir, "HEAD"), []byte("a file of the program"), 0o600))
	})
	var said []string
	if out, code := does(t, d, Call{Disarmed: func(was, _ string) { said = append(said, was) }}, "rmdir deep && ln -s ../../.git deep"); code != 0 {
		t.Fatal(out)
	}
	for _, name := range []string{filepath.Join(d.Library, ".git", "HEAD"), filepath.Join(d.Dir, "mine", "HEAD"), filepath.Join(d.Dir, "HEAD")} {
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
	}
	if len(said) > 0 {
		t.Errorf("renamed %v", said)
	}
}

// TestRightsHideNoRepository: git enters a directory that nobody may list, and reads a .git beside which nobody may write.
func TestRightsHideNoRepository(t *testing.T) {
	if os.Geteuid() == 0 { // root may do everything
		self := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		self.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		self.Env, self.Dir = []string{"TMPDIR=/tmp"}, "/"
		out, err := self.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	modes := map[string]os.FileMode{"closed": 0o311 | os.ModeSetgid, "decoy": 0o555 | os.ModeSticky, "deep/closed": 0, "open": 0o755}
	// As a server's data, which is another user's, may be beside a .git.
	const ofRoot = "/proc/1/fd"
	if _, err := os.OpenRoot(ofRoot); !os.IsPermission(err) {
		t.Fatalf("open a directory of another user: %v", err)
	}
	grounds, err := watch([]string{ofRoot, dir})
	if err != nil || len(grounds) != 1 {
		t.Fatalf("watches %d directories: %v", len(grounds), err)
	}
	for sub, perm := range modes {
		at := filepath.Join(dir, sub)
		must(t, os.MkdirAll(filepath.Join(at, ".git"), 0o755))
		must(t, os.Chmod(at, perm)) //nolint:gosec // that is the test
	}
	must(t, os.Chmod(dir, 0o311)) //nolint:gosec // that is the test
	if has, err := hasGit(filepath.Join(dir, "closed")); !has || err != nil {
		t.Errorf("a closed directory counts as one without a repository: %v", err)
	}
	if paths, err := besideGit(nil, filepath.Join(dir, "deep")); len(paths) > 0 || err != nil {
		t.Errorf("tofu may write %s: %v", paths, err)
	}
	var renamed []string
	if err := disarm(grounds, func(was, _ string) { renamed = append(renamed, was) }); err != nil || len(renamed) != len(modes) {
		t.Errorf("renamed %s: %v", renamed, err)
	}
	if info, err := os.Lstat(dir); err != nil || info.Mode().Perm() != 0o311 {
		t.Errorf("the directory itself has the mode %s: %v", info.Mode(), err)
	}
	must(t, os.Chmod(dir, 0o755)) //nolint:gosec // it is removed
	for sub, perm := range modes {
		at := filepath.Join(dir, sub)
		info, err := os.Lstat(at)
		must(t, err)
		if info.Mode()&^os.ModeDir != perm {
			t.Errorf("%s has the mode %s", sub, info.Mode())
		}
		must(t, os.Chmod(at, 0o755)) //nolint:gosec // it is removed
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			t.Errorf("%s still has a repository", sub)
		}
	}
}
