// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// program is a root module with a number of resources that OpenTofu has built in.
func program(resources int) string {
	return fmt.Sprintf(`
resource "terraform_data" "x" {
  count = %d
  input = "value ${count.index}"
}

output "ids" {
  value = terraform_data.x[*].id
}
`, resources)
}

// byHand runs plain tofu in a directory of its own.
type byHand struct {
	tofu, dir string
	// env is added to the environment that every process has.
	env []string
	cpu time.Duration
}

func (b *bench) byHand(name string, resources int) (*byHand, error) {
	h := &byHand{tofu: b.programs.tofu, dir: b.directory(name)}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, err
	}
	return h, os.WriteFile(filepath.Join(h.dir, "main.tf"), []byte(program(resources)), 0o600)
}

func (h *byHand) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, h.tofu, args...)
	cmd.Dir = h.dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + h.dir, "CHECKPOINT_DISABLE=1"}
	cmd.Env = append(cmd.Env, h.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("plain tofu %s: %w\n%s", args[0], err, out)
	}
	h.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return nil
}

// firstApply runs the commands that a person runs in a new directory.
func (h *byHand) firstApply(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	for _, args := range [][]string{{"init"}, {"plan", "-out", "tfplan"}, {"apply", "tfplan"}} {
		if err := h.run(ctx, args...); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// plan checks for changes.
func (h *byHand) plan(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	err := h.run(ctx, "plan")
	return time.Since(began), err
}
