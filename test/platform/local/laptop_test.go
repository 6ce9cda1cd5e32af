// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// addAddress gives this machine an address for the time of a test.
func addAddress(t *testing.T, address string) {
	t.Helper()
	if out, err := exec.Command("ip", "addr", "replace", address+"/32", "dev", "lo").CombinedOutput(); err != nil {
		t.Fatalf("add the address %s: %v: %s", address, err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("ip", "addr", "delete", address+"/32", "dev", "lo").CombinedOutput(); err != nil {
			t.Errorf("remove the address %s: %v: %s", address, err, out)
		}
	})
}

// freePort is an address with a port that nobody listens on.
func freePort(t *testing.T, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it was only asked for its port
	return l.Addr().String()
}

func (l *laptop) file(path, text string) {
	l.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		l.t.Fatal(err)
	}
}

// run runs a program of the repository, in its root, and returns all that it says.
func (l *laptop) run(name string, args ...string) (string, error) {
	cmd := l.command(name, args...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// program runs a program that must succeed, and returns its answer.
func (l *laptop) program(name string, args ...string) string {
	l.t.Helper()
	cmd := l.command(name, args...)
	var out, news bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &news
	if err := cmd.Run(); err != nil {
		log, _ := os.ReadFile(filepath.Join(l.home, "bootstrap.log")) //nolint:errcheck // for the message
		l.t.Fatalf("%s %s: %v\n%s%s\n%s", name, strings.Join(args, " "), err, tail(out.Bytes()), tail(news.Bytes()), tail(log))
	}
	return out.String()
}

func tail(text []byte) []byte { return text[max(0, len(text)-6000):] }

func (l *laptop) command(name string, args ...string) *exec.Cmd {
	root := tofutest.RepositoryRoot(l.t)
	cmd := exec.CommandContext(l.t.Context(), filepath.Join(root, "bin", name), args...)
	cmd.Dir = root
	cmd.Env = []string{"HOME=" + filepath.Dir(l.blueprint), "PATH=" + filepath.Join(root, "bin") + ":" + os.Getenv("PATH")}
	return cmd
}

// serve starts the home, and returns what ends it.
func (l *laptop) serve() (stop func()) {
	l.t.Helper()
	cmd := l.command("yuba", append([]string{"up", "--data-dir", l.home, "--api-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--registry-address", "127.0.0.1:0"}, l.serving()...)...)
	var log proctest.Log
	if err := proctest.Start(cmd, "Yuba is ready", &log, time.Minute); err != nil {
		l.t.Fatal(err, log.Tail())
	}
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
}

// makeVolume makes the directory of the volume on the machine with the control plane, once it is there.
func (l *laptop) makeVolume(ended <-chan struct{}) {
	data := filepath.Join(l.host, "machines", "acme-eu-eu-server-1", "data")
	for {
		if _, err := os.Stat(data); err == nil {
			path := filepath.Join(data, "yuba")
			if err := errors.Join(os.MkdirAll(path, 0o700), os.Chown(path, 65532, 65532)); err != nil {
				fmt.Fprintln(os.Stderr, "make the volume:", err)
			}
			return
		}
		select {
		case <-ended:
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// kubeconfig is that of the new cluster, from the Secret that its first machine filled; the home must run.
func (l *laptop) kubeconfig() string {
	l.t.Helper()
	file := filepath.Join(filepath.Dir(l.blueprint), "cluster.kubeconfig")
	if _, err := os.Stat(file); err != nil {
		l.file(file, l.program("yuba", "kubectl", "--kubeconfig", filepath.Join(l.home, "kubeconfig"), "get", "secret", "acme-eu-kubeconfig", "-o", "go-template={{.data.value | base64decode}}"))
	}
	return file
}
