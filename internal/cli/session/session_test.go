// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
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
		app  App
		env  map[string]string
		want string
	}{
		"that of the flag before all others": {App{kubeconfig: file("flag"), DataDir: filepath.Join(dir, "named")},
			map[string]string{"KUBECONFIG": file("env")}, "flag"},
		"that of the data directory of a flag before the environment": {App{DataDir: filepath.Join(dir, "named")},
			map[string]string{"KUBECONFIG": file("env")}, "named"},
		"that of the environment before the data directory": {App{},
			map[string]string{"KUBECONFIG": file("env"), "YUBA_DATA_DIR": filepath.Join(dir, "named")}, "env"},
		"that of the data directory of the environment": {App{}, map[string]string{"YUBA_DATA_DIR": filepath.Join(dir, "named")}, "named"},
		"that of the usual data directory":              {App{}, nil, "home"},
		"none of others when the flag names nothing":    {App{DataDir: filepath.Join(dir, "nothing")}, nil, "nothing/kubeconfig: no such file"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", "")
			t.Setenv("YUBA_DATA_DIR", "")
			t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "xdg"))
			for key, value := range c.env {
				t.Setenv(key, value)
			}
			s, err := c.app.Connect()
			switch {
			case err != nil && strings.Contains(err.Error(), c.want):
			case err != nil:
				t.Error(err)
			case s.Namespace != "of-"+c.want:
				t.Errorf("got namespace %s, want of-%s", s.Namespace, c.want)
			}
		})
	}
}

func TestNamesOfStacks(t *testing.T) {
	s := &Session{Namespace: "team"}
	cases := map[string]string{"vpc": "team/vpc", "other/vpc": "other/vpc", "": "", "/vpc": "", "a/b/c": "", "a/": ""}
	for argument, want := range cases {
		t.Run(argument, func(t *testing.T) {
			key, err := s.Stack(&cobra.Command{Use: "yuba"}, argument)
			if want == "" && err == nil || want != "" && (err != nil || key.String() != want) {
				t.Errorf("got %q, %v", key, err)
			}
		})
	}
}

// What is told to be typed next works as it stands: the namespace of -n was for one command.
func TestCommandsToTypeNameTheNamespaceWhereTheyMust(t *testing.T) {
	flag := &App{}
	flag.overrides.Context.Namespace = "team"
	for name, c := range map[string]struct {
		app  *App
		key  string
		want string
	}{
		"the context's namespace": {&App{}, "vpc", "vpc"},
		"another one in the name": {&App{}, "other/vpc", "other/vpc"},
		"the flag's":              {flag, "vpc", "team/vpc"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Session{App: c.app, Namespace: "team"}
			key, err := s.Stack(&cobra.Command{Use: "yuba"}, c.key)
			if got := s.Call(key); err != nil || got != c.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
