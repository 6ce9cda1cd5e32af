// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/yuba-dev/yuba/internal/cli"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"yuba": func() { os.Exit(cli.Main()) }})
}

// scripts are the files of testdata that do, or do not, need a server.
func scripts(t *testing.T, server bool) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, file := range all {
		if strings.HasPrefix(filepath.Base(file), "up_") == server {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		t.Fatal("there are no scripts")
	}
	return files
}

func TestWithoutServer(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Files:               scripts(t, false),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
	})
}

func TestWithServer(t *testing.T) {
	s := startServer(t, tofutest.Tofu(t))
	testscript.Run(t, testscript.Params{
		Files:               scripts(t, true),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setUp(env, s) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"remember": remember,
		},
	})
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// setUp gives a script a namespace of its own, and a kubeconfig that is in it.
func setUp(env *testscript.Env, s *server) error {
	name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
	namespace := "script-" + strings.Trim(notInNames.ReplaceAllString(strings.ToLower(name), "-"), "-")
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("NAMESPACE", namespace)
	env.Setenv("DATA", s.dir)
	env.Setenv("TOFU", s.tofu)
	env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "kubeconfig"))
	config, err := os.ReadFile(filepath.Join(s.dir, "kubeconfig"))
	if err != nil {
		return err
	}
	inNamespace := strings.Replace(string(config), "namespace: default", "namespace: "+namespace, 1)
	if err := os.WriteFile(filepath.Join(env.WorkDir, "kubeconfig"), []byte(inNamespace), 0o600); err != nil {
		return err
	}
	create := exec.Command("yuba", "kubectl", "create", "namespace", namespace)
	create.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(env.WorkDir, "kubeconfig"))
	create.Stderr = os.Stderr
	return create.Run()
}

// remember sets a variable to what a pattern finds in the last command's output:
//
//	remember NAME 'PATTERN'
func remember(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 2 {
		ts.Fatalf("usage: remember NAME PATTERN")
	}
	pattern := regexp.MustCompile("(?m)" + args[1])
	for _, text := range []string{ts.ReadFile("stdout"), ts.ReadFile("stderr")} {
		if found := pattern.FindStringSubmatch(text); found != nil {
			ts.Setenv(args[0], found[len(found)-1])
			return
		}
	}
	ts.Fatalf("neither stdout nor stderr has a match of %s", args[1])
}
