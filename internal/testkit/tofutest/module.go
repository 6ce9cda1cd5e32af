// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tofutest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Module is a root module in a directory of its own, worked on by the real tofu.
type Module struct {
	// Env is tofu's whole environment, NAME=VALUE.
	Env []string

	t    testing.TB
	tofu string
	dir  string
}

// NewModule returns a module without files.
func NewModule(t testing.TB) *Module {
	t.Helper()
	return &Module{t: t, tofu: Tofu(t), dir: t.TempDir(), Env: []string{
		"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin", "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1", "TF_CLI_ARGS=-no-color",
	}}
}

// Copy copies the files of a directory into the module.
func (m *Module) Copy(dir string) {
	m.t.Helper()
	if err := os.CopyFS(m.dir, os.DirFS(dir)); err != nil {
		m.t.Fatal(err)
	}
}

// Write writes a file of the module.
func (m *Module) Write(name, content string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// Run returns what tofu printed, and ends the test when it fails.
func (m *Module) Run(arguments ...string) string {
	m.t.Helper()
	out, stderr, err := m.Try(arguments...)
	if err != nil {
		m.t.Fatalf("tofu %q: %v\n%s%s", arguments, err, out, stderr)
	}
	return out
}

// Try is Run for a command that may fail.
func (m *Module) Try(arguments ...string) (stdout, stderr string, err error) {
	var out, news bytes.Buffer
	command := m.Command(m.t.Context(), arguments...)
	command.Stdout, command.Stderr = &out, &news
	err = command.Run()
	return out.String(), news.String(), err
}

// Command returns a command of tofu in the module, for tests that talk to it while it runs.
func (m *Module) Command(ctx context.Context, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, m.tofu, arguments...)
	command.Dir, command.Env = m.dir, m.Env
	return command
}

// State is what the local backend keeps.
func (m *Module) State() []byte {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.dir, "terraform.tfstate"))
	if err != nil {
		m.t.Fatal(err)
	}
	return data
}
