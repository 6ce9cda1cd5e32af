// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runner"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestMain(m *testing.M) {
	// A server starts its own program as the runner.
	if len(os.Args) > 1 && os.Args[1] == "runner" {
		if err := runAsRunner(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	apitest.Main(m)
}

func runAsRunner(args []string) error {
	var o runner.Options
	flags := flag.NewFlagSet("runner", flag.ContinueOnError)
	flags.StringVar(&o.Dir, "dir", "", "")
	flags.StringVar(&o.WorkRoot, "work", "", "")
	flags.StringVar(&o.ProviderMirror, "provider-mirror", "", "")
	flags.StringVar(&o.Tofu, "tofu", "", "")
	flags.StringVar(&o.Tools, "tools", "", "")
	flags.StringVar(&o.Sandbox, "sandbox", "", "")
	flags.IntVar(&o.Capacity, "capacity", 0, "")
	flags.StringVar(&o.Build, "build", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.ServerGone = 5 * time.Second
	return runner.Run(context.Background(), o)
}

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

// installSandbox builds yuba-sandbox and puts it on PATH.
func installSandbox(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(dir, "yuba-sandbox"), "github.com/yuba-dev/yuba/cmd/yuba-sandbox")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build yuba-sandbox: %v\n%s", err, out)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
