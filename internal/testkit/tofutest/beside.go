// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tofutest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BuildBeside builds the programs that are installed beside yuba into a directory.
func BuildBeside(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("build the programs beside yuba: %w", err)
	}
	const module = "github.com/yuba-dev/yuba/cmd/"
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir+"/", module+"yuba-runner", module+"yuba-sandbox", module+"yuba-network")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs beside yuba: %w\n%s", err, out)
	}
	return nil
}

// BuildHelm builds yuba-helm, a module of its own, into a directory with the other programs. Only tests of
// releases need it: it links much that nothing else does.
func BuildHelm(t testing.TB, dir string) {
	t.Helper()
	build := exec.Command("go", "build", "-C", filepath.Join(RepositoryRoot(t), "cmd", "yuba-helm"), "-trimpath", "-ldflags=-s -w", "-o", dir+"/", ".")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build yuba-helm: %v\n%s", err, out)
	}
}

// Install fills a directory like an installation: the test binary as yuba, and the programs beside
// it. The TestMain of the binary must act as yuba by that name.
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

// Link hard-links the file, or copies its 200 MB if it must.
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
