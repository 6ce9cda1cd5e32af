// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/home/pki"
	"github.com/yuba-dev/yuba/internal/platform/callhome"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

var (
	kubeNode  = flag.String("kube-node", "", "the program kube-node")
	machines  = flag.String("machines", "", "the program local-machines")
	images    = flag.String("images", "", "the directory with Yuba's images, an OCI layout of \"make image\"")
	providers = flag.String("providers", "", "a mirror of the providers yuba-dev/machines and gavinbunney/kubectl")
)

func TestMain(m *testing.M) { apitest.Main(m) }

// world is a host for machines, a copy of the modules and a home that nodes call.
type world struct {
	t       *testing.T
	host    string
	modules string
	env     []string
	api     client.Client
	ticket  types.NamespacedName
	// call and token are the variables call_home and call_home_token.
	call  map[string]any
	token string
}

// The network of the test. Nodes reach this machine at its first address.
const (
	cidr    = "10.77.0.0/24"
	gateway = "10.77.0.1"
)

// newHost starts a host for machines, and copies the modules.
func newHost(t *testing.T, args ...string) *world {
	t.Helper()
	if *kubeNode == "" || *machines == "" || *providers == "" {
		t.Fatal("this test needs real machines. Run it with\n    make test-platform")
	}
	w := &world{t: t, host: t.TempDir(), modules: filepath.Join(t.TempDir(), "modules")}
	if err := os.CopyFS(w.modules, os.DirFS(filepath.Join(tofutest.RepositoryRoot(t), "examples", "platform", "modules"))); err != nil {
		t.Fatal(err)
	}
	w.startHost(args...)
	return w
}

// newWorld is a host with a home that nodes call.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := newHost(t)
	w.api = apitest.Client(t)
	rc := filepath.Join(t.TempDir(), "tofurc")
	if err := os.WriteFile(rc, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", *providers), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + rc, "TF_IN_AUTOMATION=1",
		"MACHINES_ENDPOINT=" + w.read("endpoint"), "MACHINES_TOKEN=" + w.read("token")}
	w.openHome()
	return w
}

func (w *world) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.host, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// startHost starts local-machines. Whatever happens, nothing of it stays.
func (w *world) startHost(args ...string) {
	w.t.Helper()
	cmd := exec.Command(*machines, append([]string{"serve", w.host, "--kube-node", *kubeNode}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.sayConsoles()
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if out, err := exec.Command(*machines, "clean", w.host).CombinedOutput(); err != nil {
			w.t.Errorf("clean the machines: %v: %s", err, out)
		}
	})
	w.eventually(10*time.Second, "local-machines serves", func() error {
		_, err := os.Stat(filepath.Join(w.host, "endpoint"))
		return err
	})
}

func (w *world) sayConsoles() {
	dirs, _ := filepath.Glob(filepath.Join(w.host, "machines", "*"))
	for _, dir := range dirs {
		out, _ := exec.Command("tail", "-n", "15", "-v", filepath.Join(dir, "console.log"), filepath.Join(dir, "data", "k3s", "apiserver.log"),
			filepath.Join(dir, "data", "k3s", "kubelet.log")).CombinedOutput()
		w.t.Logf("%s\n%s", dir, out)
	}
}

// openHome makes a ticket in a real API, and serves the call home over TLS with an authority of its own.
func (w *world) openHome() {
	w.t.Helper()
	w.ticket = types.NamespacedName{Namespace: apitest.Namespace(w.t), Name: "acme-local-kubeconfig"}
	token, grant, err := callhome.New(time.Now(), time.Hour)
	if err == nil {
		err = w.api.Create(w.t.Context(), callhome.Secret(w.ticket.Namespace, w.ticket.Name, grant))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	dir := w.t.TempDir()
	authority, err := pki.OpenAuthority(filepath.Join(dir, "ca"), "home", time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	leaf := pki.Leaf{Base: filepath.Join(dir, "leaf"), CommonName: "home", Hosts: []string{gateway}, Life: time.Hour}
	if _, err := authority.Keep(leaf, time.Now()); err != nil {
		w.t.Fatal(err)
	}
	cert, err := leaf.Load()
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		w.t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, TLSConfig: &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12},
		Handler: &callhome.Handler{Secrets: secrets{w.api}, Now: time.Now, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}}
	go server.ServeTLS(l, "", "")
	w.t.Cleanup(func() { _ = server.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	w.call = map[string]any{"url": callhome.URL("https://"+net.JoinHostPort(gateway, port), w.ticket.Namespace, w.ticket.Name), "ca": string(authority.PEM())}
	w.token = token
}

type secrets struct{ client.Client }

func (s secrets) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	found := &corev1.Secret{}
	return found, s.Client.Get(ctx, key, found)
}

func (s secrets) Update(ctx context.Context, changed *corev1.Secret) error {
	return s.Client.Update(ctx, changed)
}

// eventually waits until f succeeds.
func (w *world) eventually(limit time.Duration, what string, f func() error) {
	w.t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: not within %s: %v", what, limit, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func (w *world) tofu(module string, args ...string) (string, error) {
	cmd := exec.CommandContext(w.t.Context(), tofutest.Tofu(w.t), args...)
	cmd.Dir, cmd.Env = filepath.Join(w.modules, module), w.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// apply applies a module with variables, and returns an output.
func (w *world) apply(module, output string, variables map[string]any) json.RawMessage {
	w.t.Helper()
	text, err := json.Marshal(variables)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.modules, module, "terraform.tfvars.json"), text, 0o600); err != nil {
		w.t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-no-color", "-input=false"}, {"apply", "-no-color", "-input=false", "-auto-approve"}} {
		out, err := w.tofu(module, args...)
		if strings.Contains(out, w.token) {
			w.t.Errorf("%s: what tofu prints has the token", module)
		}
		if err != nil {
			w.t.Fatalf("tofu %s in %s: %v\n%s", args[0], module, err, out)
		}
	}
	out, err := w.tofu(module, "output", "-json", output)
	if err != nil {
		w.t.Fatal(out)
	}
	return json.RawMessage(out)
}

// unchanged fails unless another plan is empty.
func (w *world) unchanged(module string) {
	w.t.Helper()
	if out, err := w.tofu(module, "plan", "-no-color", "-input=false", "-detailed-exitcode"); err != nil {
		w.t.Errorf("another plan of %s: %v\n%s", module, err, out)
	}
}

// kubectl runs kubectl on the new cluster.
func (w *world) kubectl(kubeconfig string, args ...string) (string, error) {
	cmd := exec.CommandContext(w.t.Context(), "kubectl", append([]string{"--kubeconfig", kubeconfig}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
