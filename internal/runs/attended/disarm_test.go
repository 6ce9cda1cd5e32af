// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package attended

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
