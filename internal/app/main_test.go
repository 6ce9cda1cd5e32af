// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// program writes a shell script that can be run.
func program(t *testing.T, dir, name, script string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// installPrograms builds the programs that belong beside yuba and puts them on PATH.
func installPrograms(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := tofutest.BuildBeside(dir); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
