// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"bufio"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/config/crd"
	"github.com/yuba-dev/yuba/internal/home"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// server is the Yuba that scripts share in one home.
type server struct {
	kubeconfig, dir, tofu string
	// embedded is true if Yuba has its own API.
	embedded bool
}

// startPatience is the timeout for a start, which takes three seconds on an idle machine.
const startPatience = 2 * time.Minute

// startUp starts "yuba up".
func startUp(t *testing.T) *server {
	t.Helper()
	dir := shortDir(t)
	s := &server{dir: filepath.Join(dir, "data"), tofu: tofutest.Tofu(t), embedded: true}
	s.kubeconfig = filepath.Join(s.dir, "kubeconfig")
	launch(t, dir, "Yuba is ready", "up", "--data-dir", s.dir, "--api-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--registry-address", "127.0.0.1:0", "--tofu", s.tofu)
	return s
}

// startController starts "yuba controller" on an API that serves the kinds and nothing else of
// Yuba.
func startController(t *testing.T) *server {
	t.Helper()
	dir := shortDir(t)
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	api, err := home.Start(ctx, home.Options{
		DataDir: filepath.Join(dir, "api"), APIAddress: "127.0.0.1:0", Version: "test", CRDs: crd.FS, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startPatience)
		defer cancel()
		if err := api.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	s := &server{dir: filepath.Join(dir, "data"), tofu: tofutest.Tofu(t), kubeconfig: api.Kubeconfig()}
	launch(t, dir, "Yuba's controllers are ready", "controller", "--kubeconfig", s.kubeconfig, "--data-dir", s.dir, "--content-address", "127.0.0.1:0", "--tofu", s.tofu, "--allow-break-the-glass")
	return s
}

// shortDir is a temporary directory; the path of t.TempDir is too long for the sockets of
// providers.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "yuba-script-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// launch starts a server, waits until it is ready, and stops it when the test ends.
func launch(t *testing.T, dir, readyWords string, args ...string) {
	t.Helper()
	bin := buildBeside(t, dir)
	cmd := exec.Command("yuba", args...)
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("yuba %s: %v", args[0], err)
		}
	})
	ready := make(chan bool, 1)
	go func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if strings.Contains(lines.Text(), readyWords) {
				ready <- true
			}
		}
	}()
	select {
	case <-ready:
	case <-time.After(startPatience):
		t.Fatalf("yuba %s does not become ready", args[0])
	}
}

// buildBeside builds the programs that yuba expects beside it.
func buildBeside(t *testing.T, dir string) string {
	t.Helper()
	bin := filepath.Join(dir, "bin")
	if err := tofutest.BuildBeside(bin); err != nil {
		t.Fatal(err)
	}
	return bin
}
