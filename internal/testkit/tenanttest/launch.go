// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenanttest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// Launch starts the Yuba of a directory of programs as a user does, with the provider of test/provider, and makes a namespace
// in it. It ends with the test.
func Launch(t *testing.T, programs string, args ...string) *Home {
	t.Helper()
	dir, mirror := t.TempDir(), filepath.Join(t.TempDir(), "providers")
	if err := tofutest.BuildProvider(mirror); err != nil {
		t.Fatal(err)
	}
	y := &server{}
	all := append([]string{"up", "--data-dir", dir, "--api-address", freeAddress(t), "--http-address", freeAddress(t), "--tofu", tofutest.Tofu(t),
		"--provider-mirror", mirror, "--tenant-env-prefixes", EnvPrefix, "-v"}, args...)
	cmd := exec.Command(filepath.Join(programs, "yuba"), all...)
	cmd.Stderr = y
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start Yuba: %v. Build it:\n    make build", err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended; its log says why
		cmd.Wait()                          //nolint:errcheck // so does this
		for _, left := range proctest.About(dir) {
			syscall.Kill(left.PID, syscall.SIGKILL) //nolint:errcheck // it may be gone already
		}
	})
	y.awaitReady(t, out)
	return newHome(t, filepath.Join(dir, "kubeconfig"), y.tail)
}

// newHome makes a namespace on a Yuba.
func newHome(t *testing.T, kubeconfig string, log func() string) *Home {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, infrav1.AddToScheme, tenantv1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	h := &Home{Log: log}
	if h.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "tenants-"}}
	if err := h.Client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	h.Namespace = ns.Name
	return h
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // only its number is wanted
	return l.Addr().String()
}

// server is what is known of a Yuba that runs: what it logs.
type server struct {
	mu  sync.Mutex
	log bytes.Buffer
}

func (y *server) Write(p []byte) (int, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.log.Write(p)
}

func (y *server) tail() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	text := y.log.String()
	return text[max(0, len(text)-8000):]
}

// awaitReady waits until it says that it is ready.
func (y *server) awaitReady(t *testing.T, out io.Reader) {
	t.Helper()
	ready := make(chan bool, 1)
	go func() {
		defer close(ready)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "Yuba is ready") {
				ready <- true
			}
		}
	}()
	select {
	case ok := <-ready:
		if !ok {
			t.Fatalf("yuba up ended:\n%s", y.tail())
		}
	case <-time.After(Patience):
		t.Fatalf("yuba up is not ready after %s:\n%s", Patience, y.tail())
	}
}
