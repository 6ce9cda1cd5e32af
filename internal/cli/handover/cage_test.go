// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The program of a stack is hostile: its plan reads neither the caller's files, environment nor configuration.
func TestTheProofIsConfined(t *testing.T) {
	programs, home := t.TempDir(), t.TempDir()
	if err := tofutest.BuildBeside(programs); err != nil {
		t.Fatal(err)
	}
	tool := tofutest.Tofu(t)
	secret := filepath.Join(home, "id_rsa")
	for path, text := range map[string]string{secret: "precious", filepath.Join(home, ".tofurc"): "not a configuration {"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("TF_CLI_CONFIG_FILE", filepath.Join(home, ".tofurc"))
	t.Setenv("PATH", programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	cage, err := findCage(t.Context(), tool)
	if err != nil {
		t.Fatal(err)
	}
	prove := func(program string) error {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		p := &prover{tool: tool, module: dir, program: dir, cage: cage, content: &content{record: run.Record{Spec: run.Spec{
			Files: []run.File{{Location: run.FileInHome, Path: ".aws/config", Content: []byte("the stack's")}}}}}}
		_, err := p.provesNoChanges(t.Context())
		if _, statErr := os.Stat(p.home); p.home == "" || statErr == nil {
			t.Errorf("the home directory of the proof is left: %q", p.home)
		}
		return err
	}
	if err := prove(fmt.Sprintf("locals { x = file(%q) }\ncheck \"x\" {\n assert {\n condition = local.x == \"\"\n error_message = \"read\"\n }\n}\nresource \"terraform_data\" \"x\" { input = local.x }\n", secret)); err == nil || strings.Contains(err.Error(), "precious") ||
		strings.Contains(err.Error(), "has changes") {
		t.Errorf("it read a file of the caller: %v", err)
	}
	if err := prove("locals { x = file(pathexpand(\"~/.aws/config\")) }\ncheck \"home\" {\n assert {\n condition = local.x == \"the stack's\"\n error_message = \"another home\"\n }\n}\n"); err != nil {
		t.Errorf("a plan without changes: %v", err)
	}
}
