// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tofutest

import (
	"fmt"
	"os"
	"os/exec"
)

// BuildBeside builds the small programs that are installed beside yuba into a directory: what carries out runs, and
// what confines tofu.
func BuildBeside(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("build the programs beside yuba: %w", err)
	}
	const module = "github.com/yuba-dev/yuba/cmd/"
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir+"/", module+"yuba-runner", module+"yuba-sandbox")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs beside yuba: %w\n%s", err, out)
	}
	return nil
}
