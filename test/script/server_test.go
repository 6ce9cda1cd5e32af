// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// server is the "yuba up" that the scripts share.
type server struct {
	dir, tofu string
}

// startPatience is how long a start may take, which needs three seconds on an idle machine.
const startPatience = 2 * time.Minute

func startServer(t *testing.T, tofu string) *server {
	t.Helper()
	// Not t.TempDir, whose path would be too long for the sockets of providers.
	dir, err := os.MkdirTemp("", "yuba-script-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	bin := buildSandbox(t, dir)
	data := filepath.Join(dir, "data")
	cmd := exec.Command("yuba", "up", "--data-dir", data, "--api-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--tofu", tofu)
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
			t.Errorf("yuba up: %v", err)
		}
	})
	ready := make(chan bool, 1)
	go func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if strings.Contains(lines.Text(), "Yuba is ready") {
				ready <- true
			}
		}
	}()
	select {
	case <-ready:
	case <-time.After(startPatience):
		t.Fatal("yuba up does not become ready")
	}
	return &server{dir: data, tofu: tofu}
}

// buildSandbox builds the launcher that confines tofu.
func buildSandbox(t *testing.T, dir string) string {
	t.Helper()
	bin := filepath.Join(dir, "bin")
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "yuba-sandbox"), "./cmd/yuba-sandbox")
	build.Dir = tofutest.RepositoryRoot(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build yuba-sandbox: %v\n%s", err, out)
	}
	return bin
}
