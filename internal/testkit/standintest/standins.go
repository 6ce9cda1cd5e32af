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

// EnvTables names a file with the tables of providers that [BuildAs] builds.
const EnvTables = "STANDIN_TABLES"

// Standin is a provider to replace.
type Standin struct{ Namespace, Name, Version string }

// standins are the providers that test/standin replaces, with versions that the examples accept.
// The program selects the provider by its own name.
var standins = []Standin{
	{"hashicorp", "aws", "5.0.0"},
	{"hashicorp", "random", "3.5.0"},
	{"mongey", "kafka", "0.7.0"},
	{"cyrilgdn", "rabbitmq", "1.8.0"},
	{"cyrilgdn", "postgresql", "1.21.0"},
}

// Build adds the stand-ins to a mirror.
func Build(t testing.TB, mirror string) error {
	t.Helper()
	return BuildAs(t, mirror, standins)
}

// BuildAs adds stand-ins for any providers to a mirror. Their tables are in the file of [EnvTables].
func BuildAs(t testing.TB, mirror string, standins []Standin) error {
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
		made := filepath.Join(building, s.Name)
		dir := filepath.Join(made, s.Version, runtime.GOOS+"_"+runtime.GOARCH)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("mirror the stand-in for %s: %w", s.Name, err)
		}
		if err := tofutest.Link(program, filepath.Join(dir, "terraform-provider-"+s.Name+"_v"+s.Version)); err != nil {
			return fmt.Errorf("mirror the stand-in for %s: %w", s.Name, err)
		}
		mirrored := filepath.Join(mirror, "registry.opentofu.org", s.Namespace, s.Name)
		if err := os.MkdirAll(filepath.Dir(mirrored), 0o755); err != nil {
			return fmt.Errorf("mirror the stand-in for %s: %w", s.Name, err)
		}
		if err := os.Rename(made, mirrored); err != nil { // atomic, so that runs find all of it or nothing
			return fmt.Errorf("mirror the stand-in for %s: %w", s.Name, err)
		}
	}
	return os.RemoveAll(building)
}
