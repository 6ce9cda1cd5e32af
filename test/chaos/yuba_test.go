// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bufio"
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
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// yuba is a server that restarts whenever it ends, as with a service manager.
type yuba struct {
	t         *testing.T
	base, dir string
	// command starts the server; says is what it prints when it is ready.
	command []string
	says    string
	// kubeconfig leads to the API directly, without the proxy of the server.
	kubeconfig string
	// ended is closed when the server is no longer restarted.
	ended chan struct{}

	// power is locked for writing while the machine is down, so that nothing starts.
	power sync.RWMutex

	mu       sync.Mutex
	stopping bool
	cmd      *exec.Cmd
	// ready is closed when the current server is ready.
	ready  chan struct{}
	starts int
	// slowest is the longest start until ready.
	slowest time.Duration
	// namespace is the fleet's namespace.
	namespace string
}

// newYuba creates a data directory, which is kept if the test fails.
func newYuba(t *testing.T) *yuba {
	t.Helper()
	base, err := os.MkdirTemp("", "yuba-storm-")
	if err != nil {
		t.Fatal(err)
	}
	y := &yuba{t: t, base: base, dir: filepath.Join(base, "data"), ended: make(chan struct{}), ready: make(chan struct{})}
	y.kubeconfig = filepath.Join(y.dir, "kubeconfig")
	if err := os.Mkdir(y.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(y.remove)
	return y
}

// up keeps a `yuba up` running.
func (y *yuba) up() {
	y.t.Helper()
	api, err := proctest.FreeAddress()
	if err != nil {
		y.t.Fatal(err)
	}
	y.says = "Yuba is ready"
	y.keep("up", "--api-address", api, "--http-address", "127.0.0.1:0", "--registry-address", "127.0.0.1:0")
}

// keep keeps a command of the program running.
func (y *yuba) keep(args ...string) {
	y.t.Helper()
	y.command = append(args, "--data-dir", y.dir, "--provider-mirror", providerMirror(), "--tofu", tofutest.Tofu(y.t), "-v")
	y.t.Cleanup(y.leave)
	go y.supervise()
	y.awaitReady()
}

// supervise restarts the server.
func (y *yuba) supervise() {
	defer close(y.ended)
	for {
		ended, err := y.start()
		if err != nil {
			y.t.Errorf("start the server: %v", err)
			return
		}
		if ended == nil {
			return
		}
		<-ended
		select {
		case <-y.isReady(): // it was
		default: // one that cannot start is tried again a little later, as service managers do it
			time.Sleep(200 * time.Millisecond)
		}
	}
}

// isReady is closed when the current server is ready.
func (y *yuba) isReady() chan struct{} {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.ready
}

// start starts a server; ended is nil if none is wanted any more.
func (y *yuba) start() (ended chan struct{}, err error) {
	y.power.RLock()
	defer y.power.RUnlock()
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.stopping {
		return nil, nil
	}
	log, err := os.OpenFile(filepath.Join(y.base, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	cmd := exec.Command(filepath.Join(programs, "yuba"), y.command...)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	select {
	case <-y.ready:
		y.ready = make(chan struct{})
	default:
	}
	y.cmd, ended = cmd, make(chan struct{})
	y.starts++
	go y.listen(cmd, bufio.NewScanner(out), time.Now(), ended)
	return ended, nil
}

// listen reads the server's output until it ends.
func (y *yuba) listen(cmd *exec.Cmd, lines *bufio.Scanner, began time.Time, ended chan struct{}) {
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), y.says) {
			y.mu.Lock()
			y.slowest = max(y.slowest, time.Since(began))
			close(y.ready)
			y.mu.Unlock()
		}
	}
	cmd.Wait() //nolint:errcheck // killed, of course
	close(ended)
}

// patience is the timeout for operations that normally take a second or two: the machine may be
// busy.
const patience = 2 * time.Minute

// awaitReady waits until the current server is ready.
func (y *yuba) awaitReady() {
	y.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case <-y.isReady():
			return
		case <-y.ended:
			y.t.Fatalf("the server is started no more; see %s", y.base)
		case <-deadline:
			y.t.Fatalf("the server is not ready after %s; see %s", patience, y.base)
		}
	}
}

// serverPID is the current server.
func (y *yuba) serverPID() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.cmd.Process.Pid
}

// signalServer signals the current server.
func (y *yuba) signalServer(s syscall.Signal) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.cmd.Process.Signal(s) //nolint:errcheck // it may be gone already
}

// stop ends the server for good; its runner ends when it is idle.
func (y *yuba) stop() {
	y.mu.Lock()
	y.stopping = true
	if y.cmd != nil {
		y.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may be gone already
	}
	y.mu.Unlock()
	select {
	case <-y.ended:
	case <-time.After(patience):
		y.signalServer(syscall.SIGKILL)
		<-y.ended
	}
}

// leave ends all processes.
func (y *yuba) leave() {
	y.stop()
	if err := proctest.End(y.dir); err != nil {
		y.t.Error(err)
	}
}

// remove deletes the directory unless the test failed.
func (y *yuba) remove() {
	if y.t.Failed() || *keepFlag {
		y.t.Logf("what is left is in %s: server.log, data/runner/runner.log, data/runner/runs (the spool), data/blobs. To look into it:\n    bin/yuba up --data-dir %s", y.base, y.dir)
		return
	}
	if err := os.RemoveAll(y.base); err != nil {
		y.t.Error(err)
	}
}

// processes finds the processes that work in the server's directory or name it.
func (y *yuba) processes() []proctest.Process { return proctest.About(y.dir) }

// runners finds the runners; there is at most one, except for a moment.
func (y *yuba) runners() []proctest.Process {
	var found []proctest.Process
	for _, p := range y.processes() {
		if p.Program == "yuba-runner" {
			found = append(found, p)
		}
	}
	return found
}

func (y *yuba) config() *rest.Config {
	y.t.Helper()
	config, err := kubetest.Config(y.kubeconfig)
	if err != nil {
		y.t.Fatal(err)
	}
	config.Timeout = 20 * time.Second
	return config
}

// client is a client of the API, which may disappear at any moment.
func (y *yuba) client() client.WithWatch {
	y.t.Helper()
	config := y.config()
	config.Timeout = 0 // watches last
	c, err := client.NewWithWatch(config, client.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		y.t.Fatal(err)
	}
	return c
}

// insist retries until do succeeds: the server may be away.
func insist(ctx context.Context, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		attempt, done := context.WithTimeout(ctx, 20*time.Second)
		err := do(attempt)
		done()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (y *yuba) newNamespace(name string) {
	y.t.Helper()
	ns := &corev1.Namespace{}
	ns.Name = name
	if err := y.client().Create(y.t.Context(), ns); err != nil {
		y.t.Fatal(err)
	}
	y.namespace = name
}
