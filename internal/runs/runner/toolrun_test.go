// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// A new tool is found without a restart, and the result names the one that was used.
func TestAToolThatComesLaterIsFound(t *testing.T) {
	b := newBench(t)
	b.opts.Tools = filepath.Join(b.data, "tools")
	standard := filepath.Join(b.data, "old", "tofu")
	tofutest.Fake(t, b.data, map[string]string{"old/tofu": "1.7.0"})
	real := b.opts.Tofu
	b.opts.Tofu = standard
	b.start()
	r := b.stack("later", run.OperationPlan, program(twoNamed))
	r.spec.Tool = run.Tool{Version: ">= 1.8"}
	if result := b.do(r); result.Class != run.FailureTool || !strings.Contains(result.Error, "tofu 1.7.0") {
		t.Fatalf("%+v", result)
	}
	if err := os.MkdirAll(b.opts.Tools, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(real, filepath.Join(b.opts.Tools, "tofu-new")); err != nil {
		if err := os.Symlink(tofutest.Tofu(t), filepath.Join(b.opts.Tools, "tofu-new")); err != nil {
			t.Fatal(err)
		}
	}
	result := b.succeed(r.again(run.OperationPlan))
	if result.ToolName != "tofu" || result.ToolVersion == "1.7.0" || result.ToolVersion == "" {
		t.Errorf("%+v", result)
	}
}

// Tools in a directory are often links to those of a version manager or package.
func TestAToolBehindALinkIsRunByItsOwnName(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	if err := os.Symlink(b.opts.Tofu, filepath.Join(dir, "tofu-9")); err != nil {
		t.Fatal(err)
	}
	b.opts.Tools = dir
	b.start()
	r := b.stack("linked", run.OperationPlanAndApply, program(`resource "terraform_data" "a" {}`))
	r.spec.Tool = run.Tool{Name: "tofu", Version: ">= 1.8"}
	b.succeed(r)
}
