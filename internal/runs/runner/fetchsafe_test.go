// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
)

// A program that a stack names for git runs in the stack's own run or not at all, even unconfined.
func TestADownloadRunsNoProgramOfTheStack(t *testing.T) {
	loot := filepath.Join(t.TempDir(), "loot")
	command := "pwd >> " + loot + "; false"
	for name, change := range map[string]func(r *fakeRun){
		"a variable": func(r *fakeRun) {
			r.spec.Env = append(r.spec.Env, run.EnvVar{Name: "GIT_SSH_COMMAND", Value: "sh -c '" + command + "'"})
		},
		"a file": func(r *fakeRun) {
			content := fmt.Appendf(nil, "[core]\n\tsshCommand = \"sh -c '%s'\"\n", command)
			r.spec.Files = append(r.spec.Files, run.File{Location: run.FileInHome, Path: ".gitconfig", Content: content})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newModuleBench(t)
			b.unconfined()
			b.start()
			r := b.calls("hostile", call("m", "git::ssh://git@localhost/repository.git", ""))
			change(r)
			if result := b.do(r); result.FailedStep != run.StepInit {
				t.Errorf("%+v", result)
			}
			text, err := os.ReadFile(loot)
			if err != nil {
				t.Fatalf("the program never ran, which proves nothing: %v", err)
			}
			for line := range strings.Lines(string(text)) {
				if !strings.HasPrefix(line, b.opts.WorkRoot+"/team/hostile/") {
					t.Errorf("it ran in %s", line)
				}
			}
			logged(t, r, "init downloads them in the run, because")
			if err := os.Remove(loot); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestWhatMayHaveADownloadRunPrograms(t *testing.T) {
	env := func(name string) []run.EnvVar { return []run.EnvVar{{Name: name, Value: "x"}} }
	home := func(name string) []run.File { return []run.File{{Location: run.FileInHome, Path: name}} }
	for _, name := range []string{"GIT_SSH_COMMAND", "GIT_SSH", "GIT_CONFIG_COUNT", "GIT_CONFIG_GLOBAL", "GIT_EXEC_PATH", "GIT_PROXY_COMMAND", "GIT_ASKPASS",
		"SSH_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_TEMPLATE_DIR", "GIT_ALLOW_PROTOCOL", "GIT_SOMETHING_NEW", "git_ssh"} {
		if fetch.StartsPrograms(env(name), nil) == "" {
			t.Errorf("%s is passed on", name)
		}
	}
	for _, name := range []string{"TF_TOKEN_x", "HTTPS_PROXY", "NETRC", "GIT_SSL_NO_VERIFY", "AWS_PROFILE"} {
		if why := fetch.StartsPrograms(env(name), nil); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
	for _, name := range []string{".gitconfig", ".config/git/config", ".ssh/config", ".ssh/id_rsa/../config", ".ssh/rc", ".aws/config", "x/.netrc"} {
		if fetch.StartsPrograms(nil, home(name)) == "" {
			t.Errorf("%s is passed on", name)
		}
	}
	for _, name := range []string{".netrc", ".ssh/known_hosts", ".ssh/id_ed25519", "./.netrc"} {
		if why := fetch.StartsPrograms(nil, home(name)); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}
