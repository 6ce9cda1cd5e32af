// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/yuba-dev/yuba/internal/runner"
)

// tool is the program that runs use by default, the launcher that confines it and the program that carries out runs.
type tool struct {
	path, version   string
	sandbox, runner string
	confined        bool
}

// findTool looks for tofu: where it was told to, beside this program, on PATH; terraform on PATH comes after that, and
// the newest of the directory of tools last.
func findTool(ctx context.Context, wanted, tools string) (tool, error) {
	var t tool
	path, err := locate(wanted)
	if err != nil && wanted == "" {
		if newest := runner.NewestTool(ctx, tools); newest != "" {
			path, err = newest, nil
		}
	}
	if err != nil {
		return t, err
	}
	if t.path, err = filepath.Abs(path); err != nil {
		return t, fmt.Errorf("find tofu: %w", err)
	}
	if t.version, err = toolVersion(ctx, t.path); err != nil {
		return t, err
	}
	if t.sandbox, err = beside("yuba-sandbox"); err != nil {
		return t, err
	}
	if t.runner, err = beside("yuba-runner"); err != nil {
		return t, err
	}
	t.confined = exec.CommandContext(ctx, t.sandbox, "-probe").Run() == nil
	return t, nil
}

func locate(wanted string) (string, error) {
	if wanted != "" {
		path, err := exec.LookPath(wanted)
		if err != nil {
			return "", fmt.Errorf("find tofu: %w. --tofu names the program that runs use", err)
		}
		return path, nil
	}
	if path, err := beside("tofu"); err == nil {
		return path, nil
	}
	for _, name := range []string{"tofu", "terraform"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("find tofu: it is neither on PATH nor beside yuba. Install OpenTofu (https://opentofu.org), or name it:\n    yuba up --tofu PATH")
}

// beside finds a program that is installed with this one.
func beside(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	path := filepath.Join(filepath.Dir(self), name)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return path, nil
	}
	path, err = exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find %s: it is neither beside %s nor on PATH; yuba, yuba-runner, yuba-sandbox and yuba-kustomize are installed together", name, self)
	}
	return path, nil
}

func toolVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version", "-json")
	cmd.Env = []string{"CHECKPOINT_DISABLE=1", "HOME=/nonexistent"}
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", path, err)
	}
	var answer struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", path, err)
	}
	return answer.Version, runner.CheckVersion(path, answer.Version)
}

func (e *engine) concurrency() int {
	if e.opts.Concurrency > 0 {
		return e.opts.Concurrency
	}
	return max(2, runtime.NumCPU())
}

func isNoMatch(err error) bool { return apimeta.IsNoMatchError(err) }
