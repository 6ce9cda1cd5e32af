// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// modules copies the modules to a directory that tofu may write to.
func modules(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "modules")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(tofutest.RepositoryRoot(t), "examples", "platform", "modules"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// shell is where tofu runs: with an environment of its own and providers from a mirror only.
type shell struct {
	t   *testing.T
	env []string
}

func newShell(t *testing.T, mirror string, more ...string) shell {
	t.Helper()
	rc := filepath.Join(t.TempDir(), "tofurc")
	text := fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror)
	if err := os.WriteFile(rc, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return shell{t, append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + rc, "TF_IN_AUTOMATION=1"}, more...)}
}

// tofu runs tofu in a directory.
func (s shell) tofu(dir string, args ...string) (string, error) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), tofutest.Tofu(s.t), args...)
	cmd.Dir, cmd.Env = dir, s.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s shell) must(dir string, args ...string) string {
	s.t.Helper()
	out, err := s.tofu(dir, args...)
	if err != nil {
		s.t.Fatalf("tofu %v in %s: %v\n%s", args, dir, err, out)
	}
	return out
}

// outputs applies a program with variables and returns its outputs.
func (s shell) outputs(dir string, variables map[string]any) map[string]json.RawMessage {
	s.t.Helper()
	text, err := json.Marshal(variables)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "terraform.tfvars.json"), text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.must(dir, "init", "-input=false", "-no-color")
	s.must(dir, "apply", "-auto-approve", "-input=false", "-no-color")
	var all map[string]struct{ Value json.RawMessage }
	if err := json.Unmarshal([]byte(s.must(dir, "output", "-json")), &all); err != nil {
		s.t.Fatal(err)
	}
	values := map[string]json.RawMessage{}
	for name, o := range all {
		values[name] = o.Value
	}
	return values
}

// jsonOf is a value for -var.
func jsonOf(t *testing.T, value any) string {
	t.Helper()
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
