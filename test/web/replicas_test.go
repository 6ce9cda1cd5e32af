// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/config/crd"
	"github.com/yuba-dev/yuba/internal/home"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// startAPI starts an API without controllers and returns its kubeconfig.
func startAPI(t *testing.T) string {
	t.Helper()
	api, err := home.Start(t.Context(), home.Options{DataDir: t.TempDir(), APIAddress: "127.0.0.1:0", Version: "test", CRDs: crd.Embedded, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return api.Kubeconfig()
}

// replicas starts controllers on an API as replicas, the leader first. Each has an address of this machine of its own,
// and they share ports, keys and blobs.
func replicas(t *testing.T, kubeconfig string, hosts ...string) (all []*server) {
	t.Helper()
	blobs, ports := t.TempDir(), []string{}
	for range 2 {
		address, err := proctest.FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, port)
	}
	tofu := tofutest.Tofu(t)
	for i, host := range hosts {
		s := &server{dir: t.TempDir(), http: net.JoinHostPort(host, ports[0])}
		s.cmd = exec.Command(filepath.Join(programs, "yuba"), "controller", "--kubeconfig", kubeconfig, "--data-dir", s.dir, "--tofu", tofu, "--leader-elect", "--advertise-address", host,
			"--content-address", net.JoinHostPort(host, ports[1]), "--http-address", s.http, "--web", "--web-allow-masters", "--keys-secret", "default/keys", "--blob-url", "file://"+blobs, "--registry-address", "off")
		if i == 0 {
			err := proctest.Start(s.cmd, "Yuba's controllers are ready", &s.log, patience)
			if err != nil {
				t.Fatal(err)
			}
		} else { // it does not lead
			s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
			if err := s.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "a replica stands by", func() bool { return s.log.Count("standing by") > 0 })
		}
		t.Cleanup(func() {
			if err := s.end(); err != nil {
				t.Error(err)
			}
			if t.Failed() {
				t.Logf("the replica at %s:\n%s", s.http, s.log.Tail())
			}
		})
		all = append(all, s)
	}
	return all
}

// A tab that is open at any replica goes on with the next leader, and its session with it.
func TestATabGoesOnWithTheNextLeader(t *testing.T) {
	kubeconfig := startAPI(t)
	two := replicas(t, kubeconfig, "127.0.0.2", "127.0.0.3")
	leader, standby := two[0], two[1]
	c, err := kubetest.Client(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	suspended := func(name string) {
		stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
			Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: time.Hour}, Suspend: true, Inline: map[string]string{"main.tf": ""}}}
		if err := c.Create(t.Context(), stack); err != nil {
			t.Fatal(err)
		}
	}
	suspended("first")
	link := strings.TrimSpace(leader.yuba(t, "web", "--print", "--kubeconfig", kubeconfig))
	b := newTab(t, standby)
	b.do(chromedp.Navigate(strings.Replace(link, leader.http, standby.http, 1)), chromedp.WaitVisible("h1", chromedp.ByQuery), chromedp.WaitNotPresent("#link"))
	b.open("/stacks")
	b.do(chromedp.WaitVisible("#stack-default\\.first"))
	b.mark("")
	if err := leader.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	b.sees("#trouble", "does not answer")
	suspended("second")
	b.do(chromedp.WaitVisible("#stack-default\\.second"), chromedp.WaitNotVisible("#trouble"))
	if !b.stays() {
		t.Error("the tab loaded the page again")
	}
	b.open("/stacks?q=second")
	b.do(chromedp.WaitVisible("#stack-default\\.second"))
	b.expect("ERR_")
}
