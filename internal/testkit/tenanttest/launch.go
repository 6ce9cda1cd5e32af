// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenanttest

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// Launch starts a Yuba as a user does, from a directory of programs and with test/provider, until
// the test ends, and creates a namespace.
func Launch(t *testing.T, programs string, args ...string) *Home {
	t.Helper()
	dir, mirror := t.TempDir(), filepath.Join(t.TempDir(), "providers")
	if err := tofutest.BuildProvider(mirror); err != nil {
		t.Fatal(err)
	}
	all := append([]string{"up", "--data-dir", dir, "--api-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--registry-address", "127.0.0.1:0", "--tofu", tofutest.Tofu(t),
		"--provider-mirror", mirror, "--tenant-env-prefixes", EnvPrefix, "-v"}, args...)
	cmd, log := exec.Command(filepath.Join(programs, "yuba"), all...), &proctest.Log{}
	t.Cleanup(func() {
		if cmd.Process != nil {
			cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended; its log says why
			cmd.Wait()                          //nolint:errcheck // so does this
		}
		if err := proctest.End(dir); err != nil {
			t.Error(err)
		}
	})
	if err := proctest.Start(cmd, "Yuba is ready", log, Patience); err != nil {
		t.Fatal(err)
	}
	return newHome(t, filepath.Join(dir, "kubeconfig"), log.Tail)
}

// newHome creates a namespace in a Yuba.
func newHome(t *testing.T, kubeconfig string, log func() string) *Home {
	t.Helper()
	c, err := kubetest.Client(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	h := &Home{Client: c, Kubeconfig: kubeconfig, Log: log}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "tenants-"}}
	if err := h.Client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	h.Namespace = ns.Name
	return h
}
