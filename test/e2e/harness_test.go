// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tenanttest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// programs is where the programs under test are installed, as a user would have them: side by side.
var programs string

func TestMain(m *testing.M) {
	// The test binary is the program when it is called by its name.
	if filepath.Base(os.Args[0]) == "yuba" {
		os.Exit(cli.Main())
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "yuba-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	programs = dir
	if err := tofutest.Install(dir); err != nil {
		fmt.Fprintln(os.Stderr, "install the programs:", err)
		return 1
	}
	if err := os.Mkdir(tables(), 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	shared.stop()
	return code
}

// patience is how long anything may take that should take a second or two: the machine may be busy.
const patience = 60 * time.Second

// yuba is a running Yuba.
type yuba struct {
	dir, api, http string
	args           []string
	cmd            *exec.Cmd
	client         client.WithWatch
	log            proctest.Log
}

// shared is the Yuba of all tests that break nothing.
var shared sharedYuba

type sharedYuba struct {
	once sync.Once
	y    *yuba
	err  error
}

func (s *sharedYuba) stop() {
	if s.y != nil {
		s.y.end()
		os.RemoveAll(s.y.dir) //nolint:errcheck // a temporary directory
	}
}

// common returns the shared Yuba and a namespace of the test's own in it.
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
	t.Cleanup(y.end)
	return y
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close() //nolint:errcheck // only its number is wanted
	return l.Addr().String(), nil
}

// launch starts Yuba on a data directory and waits until it is ready.
func launch(dir string, args ...string) (*yuba, error) {
	y := &yuba{dir: dir, args: args}
	var err error
	if y.api, err = freeAddress(); err != nil {
		return nil, err
	}
	if y.http, err = freeAddress(); err != nil {
		return nil, err
	}
	return y, y.start()
}

func (y *yuba) start() error {
	y.cmd = exec.Command(filepath.Join(programs, "yuba"), append([]string{"up", "--data-dir", y.dir, "--api-address", y.api, "--http-address", y.http,
		"--provider-mirror", providerMirror(), "-v"}, y.args...)...)
	if err := proctest.Start(y.cmd, "Yuba is ready", &y.log, patience); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", y.kubeconfig())
	if err != nil {
		return err
	}
	config.QPS = -1
	y.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme()})
	return err
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(infrav1.AddToScheme(s))
	utilruntime.Must(tenantv1.AddToScheme(s))
	utilruntime.Must(yubav1.AddToScheme(s))
	utilruntime.Must(sourcev1.AddToScheme(s))
	utilruntime.Must(kustomizev1.AddToScheme(s))
	utilruntime.Must(notificationv1.AddToScheme(s))
	utilruntime.Must(notificationv1beta3.AddToScheme(s))
	return s
}

func (y *yuba) kubeconfig() string { return filepath.Join(y.dir, "kubeconfig") }

func (y *yuba) logText() string { return y.log.Text() }

func (y *yuba) logTail() string { return y.log.Tail() }

// kill ends the server as a power cut would; its runner lives on.
func (y *yuba) kill() {
	y.cmd.Process.Kill() //nolint:errcheck // it may be gone already
	y.cmd.Wait()         //nolint:errcheck // killed, of course
}

// terminate ends the server as a service manager does, and returns how it took that.
func (y *yuba) terminate() error {
	if err := y.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return y.cmd.Wait()
}

// end leaves nothing running: neither the server nor its runner nor what that started.
func (y *yuba) end() {
	if y.cmd.ProcessState == nil {
		y.terminate() //nolint:errcheck // the kills below get what is left
	}
	for _, pid := range y.processes("") {
		syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // it may be gone already
	}
}

// processes finds the processes whose command line names the data directory, or that work in it, and whose command line
// has the word.
func (y *yuba) processes(word string) []int {
	var pids []int
	for _, p := range proctest.About(y.dir) {
		if strings.Contains(p.Line, word) {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// runnerPID finds the one runner.
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
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "yuba"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+y.kubeconfig())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}
