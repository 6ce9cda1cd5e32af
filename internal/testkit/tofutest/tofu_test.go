// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tofutest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTofuIsTheRealProgram(t *testing.T) {
	out, err := exec.Command(Tofu(t), "version").Output()
	if err != nil {
		t.Fatalf("run tofu version: %v", err)
	}
	if !strings.Contains(string(out), "OpenTofu v") {
		t.Errorf("tofu version says %q", out)
	}
}

func TestTofuHonoursTheEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tofu")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvTofu, path)
	if got := Tofu(t); got != path {
		t.Errorf("Tofu = %s, want %s", got, path)
	}
}
