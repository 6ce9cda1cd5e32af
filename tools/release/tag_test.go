// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/tools/release/build"
)

// commit makes a git repository of a directory, with a commit of all that is in it.
func commit(t *testing.T, root string) {
	t.Helper()
	write(t, filepath.Join(root, ".gitignore"), []byte("bin/\n"), 0o644)
	git(t, root, "init", "-q")
	git(t, root, "add", "-A")
	git(t, root, "commit", "-q", "-m", "all")
}

func git(t *testing.T, root string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// What people install as v1.2.3 is what the tag v1.2.3 names.
func TestAVersionIsReleasedFromItsTag(t *testing.T) {
	root, programsDir := repository(t, time.Now())
	commit(t, root)
	t.Setenv(keyVariable, newKey(t))
	release := func(args ...string) error {
		base := []string{"-root", root, "-programs", programsDir, "-platforms", native, "-packages=false", "-out", filepath.Join(t.TempDir(), "dist"), "-version", "v1.2.3"}
		return run(t.Context(), append(base, args...), io.Discard)
	}
	refused := func(sentence, says string) {
		t.Helper()
		if err := release(); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "\n    make release VERSION=v1.2.3 REHEARSAL=1") {
			t.Errorf("%s: got %v, want %q", sentence, err, says)
		}
		if err := release("-rehearsal"); err != nil {
			t.Errorf("%s, as a rehearsal: %v", sentence, err)
		}
	}
	refused("no tag", "does not have that tag, it has []")
	git(t, root, "tag", "v1.2.2")
	refused("another tag", `it has ["v1.2.2"]`)
	git(t, root, "tag", "v1.2.3")
	if err := release(); err != nil {
		t.Errorf("its tag: %v", err)
	}
	write(t, filepath.Join(root, "LICENSE"), []byte("another\n"), 0o644)
	refused("changes since the tag", "changes that are not committed")
	git(t, root, "commit", "-q", "-a", "-m", "more")
	refused("a commit after the tag", "it has []")
	git(t, root, "tag", "-f", "v1.2.3")
	write(t, filepath.Join(root, "cmd", "yuba", "x.go"), []byte("package main\n"), 0o644)
	refused("a file that git does not track", "changes that are not committed:\n?? cmd/")
	git(t, root, "config", "status.showUntrackedFiles", "no")
	refused("one that git is told to hide", "changes that are not committed:\n?? cmd/")
	git(t, root, "clean", "-q", "-d", "-f")
	if err := release(); err != nil {
		t.Errorf("its tag again: %v", err)
	}
}

// The completions are those of the program that is released.
func TestWhichProgramWritesTheCompletions(t *testing.T) {
	root, programsDir := repository(t, time.Now())
	other := build.Platform{OS: "linux", Arch: "arm64"}
	if runtime.GOARCH == "arm64" {
		other.Arch = "amd64"
	}
	for sentence, test := range map[string]struct {
		platform  build.Platform
		version   string
		has, says string
	}{
		"the released one, where it starts": {platform: build.ThisPlatform, version: "v9.9.9-1-g0000000", has: "# the released program completion bash\n"},
		"that of bin/ for other platforms":  {platform: other, version: "v1.2.3-4-gabcdef0", has: "# bin/yuba completion bash\n"},
		"not one of another version":        {platform: other, version: "v1.2.3-5-gabcdef1", says: `bin/yuba is version "v1.2.3-4-gabcdef0", and "v1.2.3-5-gabcdef1" is released`},
	} {
		r := release{root: root}
		var err error
		if r.version, err = build.ParseVersion(test.version); err != nil {
			t.Fatal(err)
		}
		tree, err := r.tree(t.Context(), test.platform, programsDir)
		if test.says != "" {
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: got %v", sentence, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range tree {
			if f.name == "completions/yuba.bash" && string(f.content) != test.has {
				t.Errorf("%s: the script is %q", sentence, f.content)
			}
		}
	}
}
