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
	all := append([]string{"up", "--data-dir", dir, "--api-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--tofu", tofutest.Tofu(t),
		"--provider-mirror", mirror, "--tenant-env-prefixes", EnvPrefix, "-v"}, args...)
	cmd, log := exec.Command(filepath.Join(programs, "yuba"), all...), &proctest.Log{}
	t.Cleanup(func() {
		if cmd.Process != nil {
			cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended; its log says why
			cmd.Wait()                          //nolint:errcheck // so does this
		}
		for _, left := range proctest.About(dir) {
			syscall.Kill(left.PID, syscall.SIGKILL) //nolint:errcheck // it may be gone already
		}
	})
	if err := proctest.Start(cmd, "Yuba is ready", log, Patience); err != nil {
		t.Fatal(err)
	}
	return newHome(t, filepath.Join(dir, "kubeconfig"), log.Tail)
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
