// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forges

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
	"github.com/yuba-dev/yuba/internal/testkit/giteatest"
)

// clone is a work tree of a repository at Gitea, for what its API cannot do: pushes with force, submodules, odd names.
type clone struct{ dir string }

// clone clones the repository.
func (w *world) clone(t testing.TB) *clone {
	t.Helper()
	address, err := url.Parse(w.Clone())
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword(giteatest.Self, w.Token(forgetest.Full))
	c := &clone{dir: filepath.Join(t.TempDir(), "clone")}
	if out, err := command(t.TempDir(), "clone", "--quiet", address.String(), c.dir).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	return c
}

func command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com"}
	return cmd
}

// git runs git in the work tree.
func (c *clone) git(t testing.TB, args ...string) string {
	t.Helper()
	out, err := command(c.dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// push commits files on top of a revision, pushes them to a branch with force, and returns the commit.
func (c *clone) push(t testing.TB, onto, branch string, files map[string]string) string {
	t.Helper()
	c.git(t, "fetch", "--quiet", "origin")
	c.git(t, "checkout", "--quiet", "--detach", "--force", onto)
	for name, content := range files {
		path := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.git(t, "add", "--all")
	c.git(t, "commit", "--quiet", "--message", "Change "+branch)
	c.git(t, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+branch)
	return c.git(t, "rev-parse", "HEAD")
}
