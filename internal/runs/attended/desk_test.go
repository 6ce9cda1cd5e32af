// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package attended

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// desk opens a desk whose tool is a shell, in the real sandbox.
func desk(t *testing.T, change func(*Options)) *Desk {
	t.Helper()
	programs := filepath.Join(t.TempDir(), "programs")
	if err := tofutest.BuildBeside(programs); err != nil {
		t.Fatal(err)
	}
	o := Options{Tool: "/bin/sh", Sandbox: filepath.Join(programs, "yuba-sandbox"), Library: t.TempDir(), Home: t.TempDir(), Cache: filepath.Join(t.TempDir(), "cache")}
	o.Dir = filepath.Join(o.Library, "environments", "one")
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&o)
	}
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// does runs a script, and returns what it says and its exit code.
func does(t *testing.T, d *Desk, c Call, script string) (string, int) {
	t.Helper()
	var out strings.Builder
	c.Args, c.Out, c.Errors = []string{"-c", script}, &out, &out
	code, err := d.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), code
}

func TestWhatAProgramMayWrite(t *testing.T) {
	d := desk(t, func(o *Options) {
		o.Writable = []string{filepath.Join(o.Library, "generated")}
		must(t, os.Mkdir(o.Writable[0], 0o755))
	})
	for path, writes := range map[string]bool{"here": true, "../../generated/x": true, "../../x": false, "../x": false, d.Home + "/x": false, d.Cache + "/x": false, "$HOME/x": true, "$TMPDIR/x": true} {
		if out, code := does(t, d, Call{}, "echo > "+path); (code == 0) != writes {
			t.Errorf("%s: %d %s", path, code, out)
		}
	}
	if out, code := does(t, d, Call{Installs: true}, "echo > "+d.Cache+"/x"); code != 0 {
		t.Errorf("init cannot write the directory of providers: %s", out)
	}
}

// git runs hooks and settings of its directory outside of the sandbox.
func TestNoProgramWritesGit(t *testing.T) {
	settings := func(o *Options) string { return filepath.Join(o.Library, ".git", "config") }
	prepare := func(t *testing.T, o *Options) {
		must(t, os.Mkdir(filepath.Join(o.Library, ".git"), 0o755))
		must(t, os.WriteFile(settings(o), []byte("mine"), 0o600))
		must(t, os.MkdirAll(filepath.Join(o.Library, "part", ".git"), 0o755))
		must(t, os.WriteFile(filepath.Join(o.Library, "main.tf"), nil, 0o600))
		must(t, os.Symlink(".git", filepath.Join(o.Library, "link")))
	}
	t.Run("in the root", func(t *testing.T) {
		d := desk(t, func(o *Options) { prepare(t, o); o.Dir = o.Library })
		for path, writes := range map[string]bool{".git/config": false, ".git/x": false, "link/config": false, "part/.git/x": false, "x": false, "main.tf": true, "environments/one/x": true} {
			if out, code := does(t, d, Call{}, "echo > "+path); (code == 0) != writes {
				t.Errorf("%s: %d %s", path, code, out)
			}
		}
		if out, code := does(t, d, Call{}, "mv .git moved"); code == 0 {
			t.Errorf("it was moved: %s", out)
		}
	})
	t.Run("of a clone below its directory", func(t *testing.T) {
		d := desk(t, func(o *Options) {
			must(t, os.MkdirAll(filepath.Join(o.Dir, "vendor", "clone", ".git"), 0o755))
			must(t, os.MkdirAll(filepath.Join(o.Dir, ".terraform", "modules", "m", ".git"), 0o755))
			must(t, os.Mkdir(filepath.Join(o.Dir, "files"), 0o755))
		})
		for path, writes := range map[string]bool{"vendor/clone/.git/config": false, ".terraform/modules/m/.git/config": true, "files/x": true} {
			if out, code := does(t, d, Call{}, "echo > "+path); (code == 0) != writes {
				t.Errorf("%s: %d %s", path, code, out)
			}
		}
	})
	for sentence, writable := range map[string]string{"a link to it": "link", "its own": ".git", "the root": "."} {
		t.Run(sentence, func(t *testing.T) {
			d := desk(t, func(o *Options) { prepare(t, o); o.Writable = []string{filepath.Join(o.Library, writable)} })
			if code, err := d.Run(t.Context(), Call{Args: []string{"-c", "true"}}); err == nil || !strings.Contains(err.Error(), "let tofu write "+d.Writable[0]) {
				t.Errorf("%d %v", code, err)
			}
		})
	}
	t.Run("a directory that became a link", func(t *testing.T) {
		d := desk(t, func(o *Options) {
			prepare(t, o)
			o.Writable = []string{filepath.Join(o.Dir, "deep")}
			must(t, os.Mkdir(o.Writable[0], 0o755))
		})
		if out, code := does(t, d, Call{}, "rmdir deep && ln -s ../../.git deep"); code != 0 {
			t.Fatal(out)
		}
		if code, err := d.Run(t.Context(), Call{Args: []string{"-c", "true"}}); err == nil {
			t.Errorf("the next call may write where the link leads: %d", code)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatAProgramKnows(t *testing.T) {
	d := desk(t, func(o *Options) {
		must(t, os.MkdirAll(filepath.Join(o.Home, ".aws"), 0o700))
		must(t, os.WriteFile(filepath.Join(o.Home, ".aws", "credentials"), []byte("of the cloud"), 0o600))
		must(t, os.WriteFile(filepath.Join(o.Home, ".netrc"), []byte("of another program"), 0o600))
		o.HomeFiles = []string{".aws", ".azure"}
		o.Environ = []string{"AWS_PROFILE=shop", "SECRET=x", "TF_VAR_a=b", "PATH=/mine", "TF_INPUT=1"}
		o.Passes = func(name string) bool { return Matches([]string{"AWS_*"}, name) }
		o.Set = []string{"TF_WORKSPACE=eu"}
	})
	out, _ := does(t, d, Call{}, "cat $HOME/.aws/credentials; echo; cat "+d.Home+"/.netrc; echo \"[$AWS_PROFILE][$SECRET][$TF_VAR_a][$TF_WORKSPACE][$TF_INPUT]\"; echo $PATH")
	for _, want := range []string{"of the cloud", "[shop][][b][eu][0]"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in %s", want, out)
		}
	}
	for _, not := range []string{"of another program", "/mine"} {
		if strings.Contains(out, not) {
			t.Errorf("%q in %s", not, out)
		}
	}
}

// Providers run with what tofu has, so only init and the backends that need them get tokens of registries.
func TestTokensOfRegistriesGoToInitOnly(t *testing.T) {
	for sentence, config := range map[string]string{
		"HCL":        "plugin_cache_dir = \"/kept\"\ncredentials \"a.example\" {\n  token = \"of-the-file\"\n}\ncredentials_helper \"of-the-file\" {\n}\n",
		"attributes": "plugin_cache_dir = \"/kept\"\ncredentials = { \"a.example\" = { token = \"of-the-file\" } }\n",
		"JSON":       `{"plugin_cache_dir": "/kept", "credentials": {"a.example": {"token": "of-the-file"}}}`,
	} {
		t.Run(sentence, func(t *testing.T) {
			d := desk(t, func(o *Options) {
				must(t, os.MkdirAll(filepath.Join(o.Home, ".terraform.d"), 0o700))
				must(t, os.WriteFile(filepath.Join(o.Home, ".terraform.d", "credentials.tfrc.json"), []byte("of-a-login"), 0o600))
				must(t, os.WriteFile(filepath.Join(o.Home, ".tofurc"), []byte(config), 0o600))
				o.Environ = []string{"TF_TOKEN_a_example=of-the-environment", "TF_TOKEN_b_example=passed"}
				o.Passes = func(name string) bool { return name == "TF_TOKEN_b_example" }
			})
			script := "env; cat $TF_CLI_CONFIG_FILE $HOME/.tofurc $HOME/.terraform.d/credentials.tfrc.json " + d.guarded + "/*"
			knows := func(c Call, want bool) {
				t.Helper()
				out, _ := does(t, d, c, script)
				for _, token := range []string{"of-the-environment", "of-the-file", "of-a-login"} {
					if strings.Contains(out, token) != want {
						t.Errorf("%s: want %t in %s", token, want, out)
					}
				}
				if !strings.Contains(out, "/kept") || !strings.Contains(out, "=passed") {
					t.Errorf("settings are missing: %s", out)
				}
			}
			knows(Call{Installs: true}, true)
			knows(Call{}, false)
			d.Tokens = true
			knows(Call{}, true)
		})
	}
	if got := withoutTokens([]byte("credentials {")); got != nil {
		t.Errorf("%s", got)
	}
}

func TestACanceledCallIsAskedOnceAndNeverKilled(t *testing.T) {
	d := desk(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	stopping := 0
	c := Call{Args: []string{"-c", "trap 'echo asked; touch asked' INT; touch ready; while ! test -e asked; do sleep 0.02; done; echo saved"}, Out: &out, Errors: &out, Stopping: func() { stopping++ }}
	go func() {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(d.Dir, "ready")); err == nil {
				break
			}
		}
		cancel()
	}()
	if code, err := d.Run(ctx, c); code != 0 || err != nil {
		t.Errorf("%d %v", code, err)
	}
	if out.String() != "asked\nsaved\n" || stopping != 1 {
		t.Errorf("%q, %d", out.String(), stopping)
	}
	if _, err := d.Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled call starts: %v", err)
	}
}

func TestASandboxThatCannotConfineStartsNothing(t *testing.T) {
	d := desk(t, nil)
	d.Sandbox = filepath.Join(t.TempDir(), "sandbox")
	must(t, os.WriteFile(d.Sandbox, []byte("#!/bin/sh\necho no wall >&2\nexit 3\n"), 0o700)) //nolint:gosec // a program
	var unconfined *UnconfinedError
	if _, err := d.Run(t.Context(), Call{Args: []string{"-c", "true"}, Out: &strings.Builder{}, Errors: &strings.Builder{}}); !errors.As(err, &unconfined) || !strings.Contains(err.Error(), "no wall") {
		t.Error(err)
	}
}

func TestTheToolsOwnConfigurationIsUsed(t *testing.T) {
	mirror := t.TempDir()
	d := desk(t, func(o *Options) {
		must(t, os.WriteFile(filepath.Join(o.Home, ".tofurc"), []byte("provider_installation {\n  filesystem_mirror {\n    path = \""+mirror+"\"\n  }\n}\n"), 0o600))
	})
	out, code := does(t, d, Call{}, "cat $TF_CLI_CONFIG_FILE && ls "+mirror)
	if code != 0 || !strings.Contains(out, mirror) {
		t.Errorf("%d %s", code, out)
	}
}
