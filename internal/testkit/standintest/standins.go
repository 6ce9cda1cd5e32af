// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package standintest builds the provider of test/standin, which replaces the providers of
// examples/tenants, into mirrors.
package standintest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// standins are the providers that test/standin replaces, with versions that the examples accept.
// The program selects the provider by its own name.
var standins = []struct{ namespace, name, version string }{
	{"hashicorp", "aws", "5.0.0"},
	{"hashicorp", "random", "3.5.0"},
	{"mongey", "kafka", "0.7.0"},
	{"cyrilgdn", "rabbitmq", "1.8.0"},
	{"cyrilgdn", "postgresql", "1.21.0"},
}

// Build adds the stand-ins to a mirror.
func Build(t testing.TB, mirror string) error {
	t.Helper()
	source := filepath.Join(tofutest.RepositoryRoot(t), "test", "standin")
	building := mirror + ".standins"
	program := filepath.Join(building, "standin")
	build := exec.Command("go", "build", "-C", source, "-buildvcs=false", "-o", program, ".")
	build.Env = append(build.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the stand-in for providers: %w\n%s", err, out)
	}
	for _, s := range standins {
		made := filepath.Join(building, s.name)
		dir := filepath.Join(made, s.version, runtime.GOOS+"_"+runtime.GOARCH)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("mirror the stand-in for %s: %w", s.name, err)
		}
		if err := tofutest.Link(program, filepath.Join(dir, "terraform-provider-"+s.name+"_v"+s.version)); err != nil {
			return fmt.Errorf("mirror the stand-in for %s: %w", s.name, err)
		}
		mirrored := filepath.Join(mirror, "registry.opentofu.org", s.namespace, s.name)
		if err := os.MkdirAll(filepath.Dir(mirrored), 0o755); err != nil {
			return fmt.Errorf("mirror the stand-in for %s: %w", s.name, err)
		}
		if err := os.Rename(made, mirrored); err != nil { // atomic, so that runs find all of it or nothing
			return fmt.Errorf("mirror the stand-in for %s: %w", s.name, err)
		}
	}
	return os.RemoveAll(building)
}
