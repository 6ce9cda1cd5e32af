// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package homes_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/pdnstest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// patience is the timeout for operations that are fast on an idle machine.
const patience = 2 * time.Minute

// programs is the directory with the programs under test, installed side by side as for a user.
var programs string

func TestMain(m *testing.M) {
	os.Exit(tofutest.Main(cli.Main, func(dir string) int {
		programs = dir
		return m.Run()
	}))
}

// home is a running Yuba.
type home struct {
	client.Client
	dir string
	log proctest.Log
}

// newHome starts a home in a directory.
func newHome(t *testing.T, dir string) *home {
	t.Helper()
	h := &home{dir: dir}
	args := []string{"up", "--data-dir", h.dir, "--registry-address", "127.0.0.1:0", "--tofu", tofutest.Tofu(t)}
	for _, flag := range []string{"--api-address", "--http-address"} {
		address, err := proctest.FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, flag, address)
	}
	cmd := exec.Command(filepath.Join(programs, "yuba"), args...)
	if err := proctest.Start(cmd, "Yuba is ready", &h.log, patience); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // the next line tells
		if err := cmd.Wait(); err != nil {
			t.Errorf("a home ended with %v", err)
		}
	})
	var err error
	if h.Client, err = kubetest.Client(h.kubeconfig()); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *home) kubeconfig() string { return filepath.Join(h.dir, "kubeconfig") }

// world is two homes and a DNS server.
type world struct {
	*testing.T
	a, b *home
	pdns *pdnstest.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{T: t, a: newHome(t, t.TempDir()), b: newHome(t, t.TempDir()), pdns: pdnstest.Start(t, []string{"example.org"})}
}

func (w *world) server() *yubav1.PowerDNSServer {
	s := &yubav1.PowerDNSServer{URL: w.pdns.URL, Nameserver: w.pdns.Nameserver}
	s.SecretRef.Name = "pdns"
	return s
}

func (w *world) create(h *home, objects ...client.Object) {
	w.Helper()
	for _, o := range objects {
		if err := h.Create(w.Context(), o); err != nil {
			w.Fatal(err)
		}
	}
}

func namespace(name string) client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func meta(ns, name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }

// names makes a namespace with a pool, a claim and a failover record.
func (w *world) names(h *home, ns string) {
	w.Helper()
	pool := &yubav1.SubdomainPool{ObjectMeta: meta(ns, "apps"), Spec: yubav1.SubdomainPoolSpec{Domain: "apps.example.org", TTL: 5, AllowedNamespaces: []string{"*"},
		Records: []string{"@"}, Interval: metav1.Duration{Duration: 5 * time.Second}, PowerDNS: w.server()}}
	record := &yubav1.FailoverRecord{ObjectMeta: meta(ns, "www"), Spec: yubav1.FailoverRecordSpec{Host: "www.example.org", TTL: 5, Placement: yubav1.PlacementActiveActive,
		Endpoints: []yubav1.FailoverEndpoint{{Name: "eu", Addresses: []string{"127.0.0.11"}}}, Interval: metav1.Duration{Duration: 5 * time.Second},
		Publish: yubav1.FailoverPublish{PowerDNS: *w.server()}}}
	w.create(h, namespace(ns), &corev1.Secret{ObjectMeta: meta(ns, "pdns"), StringData: map[string]string{"api-key": w.pdns.Key}}, pool, record, w.claim(ns, ns, "acme", "192.0.2.1"))
}

func (w *world) claim(ns, poolNamespace, name, address string) *yubav1.SubdomainClaim {
	c := &yubav1.SubdomainClaim{ObjectMeta: meta(ns, name), Spec: yubav1.SubdomainClaimSpec{Name: name, Addresses: []string{address}}}
	c.Spec.PoolRef.Name, c.Spec.PoolRef.Namespace = "apps", poolNamespace
	return c
}

// object is one with conditions.
type object interface {
	client.Object
	conditions.Object
}

// await waits for the reason of an object's condition Ready.
func (w *world) await(h *home, o object, reason string) {
	w.Helper()
	w.eventually(fmt.Sprintf("%T %s is %s", o, o.GetName(), reason), func() string {
		if err := h.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error()
		}
		if c := conditions.Of(o, infrav1.ConditionReady); c.Reason != reason {
			return c.Reason + ": " + c.Message
		}
		return ""
	})
}

func (w *world) eventually(what string, wrong func() string) {
	w.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		is := wrong()
		if is == "" {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s; but: %s\nhome a: %s\nhome b: %s", what, is, w.a.log.Tail(), w.b.log.Tail())
		}
	}
}

func (w *world) api() *powerdns.Client {
	return &powerdns.Client{URL: w.pdns.URL, Key: w.pdns.Key, HTTP: http.DefaultClient}
}

// content is what the server has for a name, without a cache.
func (w *world) content(name, kind string) (string, error) {
	sets, err := w.api().RRsets(w.Context(), "example.org", name)
	for _, set := range sets {
		if set.Type == kind {
			return set.Records[0].Content, err
		}
	}
	return "", err
}

func (w *world) has(name, kind string) string {
	w.Helper()
	is, err := w.content(name, kind)
	if err != nil {
		w.Fatal(err)
	}
	return is
}

// write writes a record as somebody else.
func (w *world) write(name, kind, content string) {
	w.Helper()
	set := powerdns.RRset{Name: name + ".", Type: kind, TTL: 60, Records: []powerdns.Record{{Content: content}}}
	if err := w.api().Change(w.Context(), "example.org", []powerdns.RRset{set}); err != nil {
		w.Fatal(err)
	}
}

// belongs waits until a claim at a home has its name, and no other UID does.
func (w *world) belongs(h *home, ns, name string) {
	w.Helper()
	c := &yubav1.SubdomainClaim{ObjectMeta: meta(ns, name)}
	w.await(h, c, yubav1.ReasonClaimCommitted)
	w.eventually("the registration names the claim", func() string {
		if is := w.has("_yuba."+name+".apps.example.org", "TXT"); !strings.Contains(is, "uid="+string(c.UID)) {
			return is
		}
		return ""
	})
}

// command is a call of yuba move.
func (w *world) command(from, to *home, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(filepath.Join(programs, "yuba"), append([]string{"move", "--from", from.dir, "--to", to.kubeconfig(), "--yes"}, args...)...)
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// move moves a namespace.
func (w *world) move(from, to *home, ns string) {
	w.Helper()
	if cmd, out := w.command(from, to, "-n", ns); cmd.Run() != nil {
		w.Fatalf("%s\nhome a: %s\nhome b: %s", out, w.a.log.Tail(), w.b.log.Tail())
	}
}

// refused is what yuba move says when it refuses.
func (w *world) refused(from, to *home, ns string) string {
	w.Helper()
	cmd, out := w.command(from, to, "-n", ns)
	var code *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &code) || code.ExitCode() != 5 {
		w.Errorf("it is not refused: %v: %s", err, out)
	}
	return out.String()
}
