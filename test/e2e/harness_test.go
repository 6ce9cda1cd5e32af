// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/cli"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tenanttest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// programs is the directory with the programs under test, installed side by side as for a user.
var programs string

func TestMain(m *testing.M) {
	os.Exit(tofutest.Main(cli.Main, func(dir string) int {
		programs = dir
		if err := os.Mkdir(tables(), 0o755); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer shared.stop()
		return m.Run()
	}))
}

// patience is the timeout for operations that normally take a second or two: the machine may be
// busy.
const patience = 60 * time.Second

// yuba is a running Yuba.
type yuba struct {
	dir, api, http string
	args           []string
	// files limits the open files of the server; 0 means the same limit as the test.
	files  int
	cmd    *exec.Cmd
	client client.WithWatch
	log    proctest.Log
}

// shared is the Yuba of all tests that do not damage it.
var shared sharedYuba

type sharedYuba struct {
	once sync.Once
	y    *yuba
	err  error
}

func (s *sharedYuba) stop() {
	if s.y != nil {
		s.y.end()             //nolint:errcheck // the process ends, and no test is left to tell
		os.RemoveAll(s.y.dir) //nolint:errcheck // a temporary directory
	}
}

// common returns the shared Yuba and a namespace for the test.
func common(t *testing.T) (*yuba, string) {
	t.Helper()
	tofu := tofutest.Tofu(t)
	shared.once.Do(func() {
		dir, err := os.MkdirTemp("", "yuba-e2e-data-")
		if err != nil {
			shared.err = err
			return
		}
		shared.y, shared.err = launch(dir, "--tofu", tofu, "--sqlite-sources", tables(), "--tenant-env-prefixes", tenanttest.EnvPrefix+",AWS_")
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.y, shared.y.namespace(t)
}

// alone starts a Yuba that the test may kill.
func alone(t *testing.T, args ...string) *yuba {
	t.Helper()
	y, err := launch(t.TempDir(), append([]string{"--tofu", tofutest.Tofu(t)}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	y.endsWith(t)
	return y
}

// newYuba makes a Yuba that uses the same addresses after each start.
func newYuba(dir string, args ...string) (*yuba, error) {
	y := &yuba{dir: dir, args: args}
	var err error
	if y.api, err = proctest.FreeAddress(); err != nil {
		return nil, err
	}
	y.http, err = proctest.FreeAddress()
	return y, err
}

// launch starts Yuba with a data directory and waits until it is ready.
func launch(dir string, args ...string) (*yuba, error) {
	y, err := newYuba(dir, args...)
	if err != nil {
		return nil, err
	}
	return y, y.start()
}

func (y *yuba) start() error {
	y.cmd = exec.Command(filepath.Join(programs, "yuba"), append([]string{"up", "--data-dir", y.dir, "--api-address", y.api, "--http-address", y.http, "--registry-address", "127.0.0.1:0",
		"--provider-mirror", providerMirror(), "-v"}, y.args...)...)
	if y.files > 0 {
		y.cmd = exec.Command("/bin/sh", append([]string{"-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, y.files)}, y.cmd.Args...)...)
	}
	if err := proctest.Start(y.cmd, "Yuba is ready", &y.log, patience); err != nil {
		return err
	}
	var err error
	y.client, err = kubetest.Client(y.kubeconfig())
	return err
}

func (y *yuba) kubeconfig() string { return filepath.Join(y.dir, "kubeconfig") }

func (y *yuba) logText() string { return y.log.Text() }

func (y *yuba) logTail() string { return y.log.Tail() }

// kill kills the server, as a power cut does; its runner continues.
func (y *yuba) kill() {
	y.cmd.Process.Kill() //nolint:errcheck // it may be gone already
	y.cmd.Wait()         //nolint:errcheck // killed, of course
}

// terminate ends the server like a service manager, and returns its exit status.
func (y *yuba) terminate() error {
	if err := y.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return y.cmd.Wait()
}

// endsWith ends it with the test.
func (y *yuba) endsWith(t *testing.T) {
	t.Cleanup(func() {
		if err := y.end(); err != nil {
			t.Error(err)
		}
	})
}

// end ends the server, its runner and their processes.
func (y *yuba) end() error {
	if y.cmd.ProcessState == nil {
		y.terminate() //nolint:errcheck // what is left is killed
	}
	return proctest.End(y.dir)
}

// processes finds processes whose command line contains the word, and that name the data directory
// or work in it.
func (y *yuba) processes(word string) []int {
	var pids []int
	for _, p := range proctest.About(y.dir) {
		if strings.Contains(p.Line, word) {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// runnerPID is the process of the only runner.
func (y *yuba) runnerPID(t *testing.T) int {
	t.Helper()
	pids := y.processes("yuba-runner\x00")
	if len(pids) != 1 {
		t.Fatalf("found %d runners, want one", len(pids))
	}
	return pids[0]
}

func (y *yuba) namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}
	if err := y.client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// run runs a command of the program under test and returns what it printed and its exit code.
func (y *yuba) run(t *testing.T, args ...string) (out, news string, code int) {
	t.Helper()
	return y.runWith(t, "", args...)
}

// runWith is run with this standard input.
func (y *yuba) runWith(t *testing.T, in string, args ...string) (out, news string, code int) {
	t.Helper()
	return y.runFor(t, patience, in, args...)
}

// runFor is runWith with a timeout of its own.
func (y *yuba) runFor(t *testing.T, timeout time.Duration, in string, args ...string) (out, news string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "yuba"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+y.kubeconfig())
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}
