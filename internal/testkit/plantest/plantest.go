// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package plantest makes plans with the real tofu, for tests of what reads them.
package plantest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// Files are the files of a program, by path.
type Files map[string]string

// Case is how a plan is made.
type Case struct {
	// Before is applied first; nil for nothing.
	Before Files
	// State changes the state after that; nil for no change.
	State func(state []byte) []byte
	// Files are planned.
	Files Files
	// Args are more arguments of the plan, such as -replace=ADDRESS.
	Args []string
	// Mirror is a directory with providers; empty for none but the tool's own.
	Mirror string
	// Env is added to the environment of the tool.
	Env []string
	// Fails is true if the plan ends with an error, and is still saved.
	Fails bool
}

// Made is a plan that was made.
type Made struct {
	// Show is the output of `tofu show -json`, Config that of `tofu show -json -config`.
	Show, Config []byte
	// ModuleList is modules.json, and LockFile the dependency lock file; nil for none.
	ModuleList, LockFile []byte
}

// Make makes a plan.
func Make(t testing.TB, c Case) Made {
	t.Helper()
	dir := t.TempDir()
	p := &program{t: t, tofu: tofutest.Tofu(t), dir: filepath.Join(dir, "program"), env: append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1"}, c.Env...)}
	if c.Mirror != "" {
		settings := filepath.Join(dir, "cli.tfrc")
		text := fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", c.Mirror)
		if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p.env = append(p.env, "TF_CLI_CONFIG_FILE="+settings)
	}
	if c.Before != nil {
		p.write(c.Before)
		p.run("init", "-input=false", "-no-color")
		p.run("apply", "-input=false", "-auto-approve", "-no-color")
	}
	if c.State != nil {
		changed := c.State(p.read("terraform.tfstate"))
		if err := os.WriteFile(filepath.Join(p.dir, "terraform.tfstate"), changed, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.write(c.Files)
	p.run("init", "-input=false", "-no-color")
	plan := filepath.Join(dir, "plan")
	args := append([]string{"plan", "-input=false", "-no-color", "-out=" + plan}, c.Args...)
	if c.Fails {
		if _, err := p.try(args...); err == nil {
			t.Fatal("the plan did not fail")
		}
	} else {
		p.run(args...)
	}
	made := Made{Show: p.run("show", "-json", plan), Config: p.run("show", "-json", "-config")}
	made.ModuleList = p.read(".terraform/modules/modules.json")
	made.LockFile = p.read(".terraform.lock.hcl")
	return made
}

type program struct {
	t         testing.TB
	tofu, dir string
	env       []string
}

// write replaces the program, and keeps what the tool wrote.
func (p *program) write(files Files) {
	p.t.Helper()
	for _, pattern := range []string{"*.tf", "*.tf.json", "*.tfvars"} {
		old, _ := filepath.Glob(filepath.Join(p.dir, pattern))
		for _, name := range old {
			if err := os.Remove(name); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	for name, text := range files {
		path := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *program) read(name string) []byte {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

func (p *program) try(args ...string) ([]byte, error) {
	var out, errs bytes.Buffer
	command := exec.Command(p.tofu, args...)
	command.Dir, command.Env, command.Stdout, command.Stderr = p.dir, p.env, &out, &errs
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("tofu %v: %w\n%s%s", args, err, out.String(), errs.String())
	}
	return out.Bytes(), nil
}

func (p *program) run(args ...string) []byte {
	p.t.Helper()
	out, err := p.try(args...)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}
