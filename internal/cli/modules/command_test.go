// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// lib writes a library with two mistakes.
func lib(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"modules/shop/main.tf": "variable \"domain\" { type = string }\noutput \"url\" { value = var.domain }\n",
		"env/main.tf":          "module \"shop\" {\n  source = \"../modules/shop\"\n  domian = \"x\"\n}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run executes a command, and returns its output and exit code.
func run(t *testing.T, args ...string) (text string, code int) {
	t.Helper()
	var out bytes.Buffer
	cmd := NewCommand(&session.App{Console: &ui.Console{Out: &out, Err: &out}})
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	var coded *ui.CodedError
	switch {
	case errors.As(err, &coded):
		code = coded.Code
	case err != nil:
		code = -1
	}
	if err != nil {
		out.WriteString(err.Error())
	}
	return out.String(), code
}

func TestCheckSaysWhereAndWhat(t *testing.T) {
	dir := lib(t)
	text, code := run(t, "check", dir)
	if code != ui.ExitFailure || !strings.Contains(text, `env/main.tf:3: error: module.shop.domian: modules/shop has no variable "domian"; did you mean domain? (unknown-argument)`) ||
		!strings.Contains(text, "2 modules, 1 root: 2 errors, 0 warnings") {
		t.Errorf("%d: %s", code, text)
	}
	text, code = run(t, "check", dir, "-o", "json")
	var answer checked
	before, _, _ := strings.Cut(text, "check 2 modules")
	if err := json.Unmarshal([]byte(before), &answer); err != nil || code != ui.ExitFailure || answer.Errors != 2 || answer.Findings[0].File != "env/main.tf" || !slices.Equal(answer.Roots, []string{"env"}) {
		t.Errorf("%v %d: %s", err, code, text)
	}
	if text, code := run(t, "check", filepath.Join(dir, "modules")); code != ui.ExitOK || text != "1 module, 1 root: everything fits\n" {
		t.Errorf("%d: %s", code, text)
	}
	if text, code := run(t, "check", t.TempDir()); code != ui.ExitNotFound || !strings.Contains(text, "no directory has .tf or .tofu files") {
		t.Errorf("%d: %s", code, text)
	}
}

func TestGraphInEachForm(t *testing.T) {
	dir := lib(t)
	for form, want := range map[string]string{"": "env -> modules/shop (shop)\n", "mermaid": "flowchart LR\n", "svg": "<svg", "json": `"to": "modules/shop"`} {
		if text, code := run(t, "graph", dir, "-o", form); code != ui.ExitOK || !strings.Contains(text, want) {
			t.Errorf("%q: %d: %s", form, code, text)
		}
	}
	if text, code := run(t, "graph", dir, "--root", "./modules/shop"); code != ui.ExitOK || text != "" {
		t.Errorf("%d: %s", code, text)
	}
	if text, code := run(t, "graph", dir, "--root", "none"); code != ui.ExitNotFound || !strings.Contains(text, "there is no module in none") {
		t.Errorf("%d: %s", code, text)
	}
}

func TestPagesAreWrittenAndCompared(t *testing.T) {
	dir := lib(t)
	to := filepath.Join(dir, "docs")
	if text, code := run(t, "docs", dir, "--write", to, "--check"); code != ui.ExitFailure || !strings.Contains(text, "2 pages out of date") {
		t.Errorf("%d: %s", code, text)
	}
	if text, code := run(t, "docs", dir, "--write", to); code != ui.ExitOK || !strings.Contains(text, "2 pages of 2 modules written") {
		t.Errorf("%d: %s", code, text)
	}
	page, err := os.ReadFile(filepath.Join(to, "modules-shop.md"))
	if err != nil || !strings.Contains(string(page), "| `domain` | `string` | required |") {
		t.Errorf("%v: %s", err, page)
	}
	if text, code := run(t, "docs", dir, "--write", to, "--check"); code != ui.ExitOK {
		t.Errorf("%d: %s", code, text)
	}
}
