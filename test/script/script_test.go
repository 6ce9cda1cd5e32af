// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/yuba-dev/yuba/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"yuba": func() { os.Exit(cli.Main()) }})
}

// The prefix of a script's name selects its server.
const (
	sharedServer = "up_"
	ownServer    = "own_"
)

// scripts are the files in testdata for this server, or for none if it is empty.
func scripts(t *testing.T, server string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, file := range all {
		needs := ""
		for _, prefix := range []string{sharedServer, ownServer} {
			if strings.HasPrefix(filepath.Base(file), prefix) {
				needs = prefix
			}
		}
		if needs == server {
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
		Files:               scripts(t, ""),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
	})
}

func TestUp(t *testing.T) { runOn(t, startUp(t), scripts(t, sharedServer)...) }

// Everything that works in one home works in the other.
func TestController(t *testing.T) { runOn(t, startController(t), scripts(t, sharedServer)...) }

func TestUpAlone(t *testing.T) {
	for _, file := range scripts(t, ownServer) {
		t.Run(filepath.Base(file), func(t *testing.T) { runOn(t, startUp(t), file) })
	}
}

func runOn(t *testing.T, s *server, files ...string) {
	testscript.Run(t, testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setUp(env, s) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"remember":   remember,
			"eventually": eventually,
		},
		Condition: func(name string) (bool, error) {
			if name == "embedded" {
				return s.embedded, nil
			}
			return false, fmt.Errorf("there is no condition %q", name)
		},
	})
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// setUp gives a script its own namespace, and a kubeconfig for it.
func setUp(env *testscript.Env, s *server) error {
	name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
	namespace := "script-" + strings.Trim(notInNames.ReplaceAllString(strings.ToLower(name), "-"), "-")
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("NAMESPACE", namespace)
	env.Setenv("DATA", s.dir)
	env.Setenv("TOFU", s.tofu)
	env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "kubeconfig"))
	config, err := os.ReadFile(s.kubeconfig)
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

// remember sets a variable to the match of a pattern in the last command's output:
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

// eventually retries a command until it succeeds, if no event shows when it will:
//
//	eventually COMMAND [ARGUMENT]...
func eventually(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) == 0 {
		ts.Fatalf("usage: eventually COMMAND [ARGUMENT]...")
	}
	deadline, again := time.After(startPatience), time.NewTicker(100*time.Millisecond)
	defer again.Stop()
	for {
		err := ts.Exec(args[0], args[1:]...)
		if err == nil {
			return
		}
		select {
		case <-deadline:
			ts.Fatalf("%s still fails: %v", strings.Join(args, " "), err)
		case <-again.C:
		}
	}
}
