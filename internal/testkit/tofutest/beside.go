// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tofutest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

// Install makes a directory what a user has installed: the test binary as yuba, and the programs that belong beside it.
// What the binary does by that name is for its TestMain to say.
func Install(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("install yuba: %w", err)
	}
	if err := Link(self, filepath.Join(dir, "yuba")); err != nil {
		return fmt.Errorf("install yuba: %w", err)
	}
	return BuildBeside(dir)
}

// Link prefers a second name for the file over a copy of its 200 MB.
func Link(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // read only
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
