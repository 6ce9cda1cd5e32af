// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// module is a root module in a directory of its own, worked on by the real tofu.
type module struct {
	t    *testing.T
	tofu string
	dir  string
	env  []string
}

// newModule copies testdata/NAME and initialises it.
func newModule(t *testing.T, name string) *module {
	t.Helper()
	m := emptyModule(t)
	if err := os.CopyFS(m.dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	m.run("init")
	return m
}

func emptyModule(t *testing.T) *module {
	t.Helper()
	home := t.TempDir()
	upstream := filepath.Join(home, "upstream.tfstate")
	err := os.WriteFile(upstream, []byte(`{"version":4,"serial":1,"lineage":"u","outputs":{"o":{"value":"x","type":"string"}}}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return &module{t: t, tofu: tofutest.Tofu(t), dir: t.TempDir(), env: []string{
		"HOME=" + home, "PATH=/usr/bin:/bin", "TF_VAR_upstream=" + upstream, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
	}}
}

func (m *module) file(name, content string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// run returns what tofu printed, and ends the test when it fails.
func (m *module) run(arguments ...string) string {
	m.t.Helper()
	out, stderr, err := m.try(arguments...)
	if err != nil {
		m.t.Fatalf("tofu %q: %v\n%s%s", arguments, err, out, stderr)
	}
	return out
}

func (m *module) try(arguments ...string) (stdout, stderr string, err error) {
	var out, news bytes.Buffer
	command := exec.CommandContext(m.t.Context(), m.tofu, arguments...)
	command.Dir, command.Env, command.Stdout, command.Stderr = m.dir, append(m.env, "TF_CLI_ARGS=-no-color"), &out, &news
	err = command.Run()
	return out.String(), news.String(), err
}

// state is what the local backend keeps.
func (m *module) state() []byte {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.dir, "terraform.tfstate"))
	if err != nil {
		m.t.Fatal(err)
	}
	return data
}
