// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeKubeconfig writes a kubeconfig whose only context leads to a host of that name.
func writeKubeconfig(t *testing.T, path, name string) {
	t.Helper()
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: %[1]s, cluster: {server: "https://%[1]s"}}]
contexts: [{name: %[1]s, context: {cluster: %[1]s, user: %[1]s, namespace: of-%[1]s}}]
users: [{name: %[1]s, user: {token: t}}]
current-context: %[1]s
`, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWhichKubeconfigIsUsed(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"flag", "env", "named"} {
		writeKubeconfig(t, filepath.Join(dir, name, "kubeconfig"), name)
	}
	writeKubeconfig(t, filepath.Join(dir, "xdg", "yuba", "kubeconfig"), "home")
	file := func(name string) string { return filepath.Join(dir, name, "kubeconfig") }
	cases := map[string]struct {
		app  app
		env  map[string]string
		want string
	}{
		"that of the flag before all others": {app{kubeconfig: file("flag"), dataDir: filepath.Join(dir, "named")},
			map[string]string{"KUBECONFIG": file("env")}, "flag"},
		"that of the data directory of a flag before the environment": {app{dataDir: filepath.Join(dir, "named")},
			map[string]string{"KUBECONFIG": file("env")}, "named"},
		"that of the environment before the data directory": {app{},
			map[string]string{"KUBECONFIG": file("env"), "YUBA_DATA_DIR": filepath.Join(dir, "named")}, "env"},
		"that of the data directory of the environment": {app{}, map[string]string{"YUBA_DATA_DIR": filepath.Join(dir, "named")}, "named"},
		"that of the usual data directory":              {app{}, nil, "home"},
		"none of others when the flag names nothing":    {app{dataDir: filepath.Join(dir, "nothing")}, nil, "nothing/kubeconfig: no such file"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", "")
			t.Setenv("YUBA_DATA_DIR", "")
			t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "xdg"))
			for key, value := range c.env {
				t.Setenv(key, value)
			}
			s, err := c.app.connect()
			switch {
			case err != nil && strings.Contains(err.Error(), c.want):
			case err != nil:
				t.Error(err)
			case s.namespace != "of-"+c.want:
				t.Errorf("got namespace %s, want of-%s", s.namespace, c.want)
			}
		})
	}
}

func TestNamesOfStacks(t *testing.T) {
	s := &session{namespace: "team"}
	cases := map[string]string{"vpc": "team/vpc", "other/vpc": "other/vpc", "": "", "/vpc": "", "a/b/c": "", "a/": ""}
	for argument, want := range cases {
		t.Run(argument, func(t *testing.T) {
			key, err := s.stack(Command(), argument)
			if want == "" && err == nil || want != "" && (err != nil || key.String() != want) {
				t.Errorf("got %q, %v", key, err)
			}
		})
	}
}

// What is told to be typed next works as it stands: the namespace of -n was for one command.
func TestCommandsToTypeNameTheNamespaceWhereTheyMust(t *testing.T) {
	flag := &app{}
	flag.overrides.Context.Namespace = "team"
	for name, c := range map[string]struct {
		app  *app
		key  string
		want string
	}{
		"the context's namespace": {&app{}, "vpc", "vpc"},
		"another one in the name": {&app{}, "other/vpc", "other/vpc"},
		"the flag's":              {flag, "vpc", "team/vpc"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &session{app: c.app, namespace: "team"}
			key, err := s.stack(Command(), c.key)
			if got := s.call(key); err != nil || got != c.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestFlagsOfYubaBeforeKubectlsCommand(t *testing.T) {
	cases := map[string]struct {
		args, rest []string
		dir        string
	}{
		"with a value of its own":        {[]string{"--data-dir", "d", "get", "ns"}, []string{"get", "ns"}, "d"},
		"with a joined value":            {[]string{"--data-dir=d", "get"}, []string{"get"}, "d"},
		"kubectl's own are left to it":   {[]string{"-n", "x", "get"}, []string{"-n", "x", "get"}, ""},
		"what follows the command stays": {[]string{"get", "--data-dir", "d"}, []string{"get", "--data-dir", "d"}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := &app{}
			rest, err := a.takeOwnFlags(Command(), c.args)
			if err != nil || a.dataDir != c.dir {
				t.Errorf("data directory %q, %v", a.dataDir, err)
			}
			if diff := cmp.Diff(c.rest, rest); diff != "" {
				t.Error(diff)
			}
		})
	}
}
