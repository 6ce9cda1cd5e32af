// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
)

// Oldest is the oldest usable version of tofu or terraform: it has JSON output for plan and apply,
// and creates workspaces on select.
const Oldest = "1.5.0-0"

// CheckVersion fails if the version is unusable, at the server's start and for each run.
func CheckVersion(path, version string) error {
	v, err := semver.NewVersion(version)
	if err != nil {
		return fmt.Errorf("ask %s for its version: it says %q: %w", path, version, err)
	}
	if v.LessThan(semver.MustParse(Oldest)) {
		return fmt.Errorf("%s is version %s, which is too old: Yuba needs 1.5 or newer. Install a newer one, or name it when starting Yuba:\n    yuba up --tofu PATH", path, v)
	}
	return nil
}

// Tool is a program that plans and applies.
type Tool struct {
	Name     string // "tofu" or "terraform"
	Path     string
	Version  string
	Identity string // changes when the file does
}

// askVersion runs the program once.
func askVersion(ctx context.Context, path string) (Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version", "-json")
	cmd.Env = []string{"PATH=" + SystemPath, "HOME=/nonexistent", "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + os.DevNull}
	cmd.Dir = "/"
	cmd.WaitDelay = process.OutputPatience
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return Tool{}, fault.New(run.FailureTool, "ask %s for its version: %w", path, err)
	}
	var answer struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(out, &answer); err != nil || answer.Version == "" {
		return Tool{}, fault.New(run.FailureTool, "ask %s for its version: it is not OpenTofu or Terraform", path)
	}
	return Tool{Name: toolName(path), Path: path, Version: answer.Version}, nil
}

// JSONInit reports whether init supports -json. Otherwise its output is text, the error last.
func (t Tool) JSONInit() bool {
	version, err := semver.NewVersion(t.Version)
	if err != nil {
		return false
	}
	since := uint64(8)
	if t.Name == "terraform" {
		since = 9
	}
	return version.Major() > 1 || version.Minor() >= since
}

// ComparesVariables reports whether apply compares variables with the saved plan's (tofu since
// 1.8). It then needs plan's variable files, which other tools refuse.
func (t Tool) ComparesVariables() bool {
	version, err := semver.NewVersion(t.Version)
	return err == nil && t.Name == "tofu" && !version.LessThan(semver.MustParse("1.8.0-0"))
}

// check fails if the tool is not the wanted one.
func (t Tool) check(want run.Tool) error {
	if err := CheckVersion(t.Path, t.Version); err != nil {
		return fault.New(run.FailureTool, "%w", err)
	}
	fits, err := t.fits(want.Version)
	if err == nil && !fits {
		err = fault.New(run.FailureTool, "%s is version %s, which is not %s", t.Path, t.Version, want.Version)
	}
	return err
}

// fits reports whether the version satisfies a constraint. An empty one accepts any.
func (t Tool) fits(wanted string) (bool, error) {
	if wanted == "" {
		return true, nil
	}
	version, err := semver.NewVersion(t.Version)
	if err != nil {
		return false, fault.New(run.FailureTool, "read the version %q of %s: %w", t.Version, t.Path, err)
	}
	constraint, err := semver.NewConstraint(wanted)
	if err != nil {
		return false, fault.New(run.FailureTool, "read the version %q that spec.tool.version wants: %w. It is a constraint such as \"1.9.1\", \"~> 1.9.0\" or \">= 1.8, < 2\"", wanted, err)
	}
	constraint.IncludePrerelease = true
	return constraint.Check(version), nil
}
