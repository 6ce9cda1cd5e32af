// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// home is an API with a controller that works on its objects.
type home struct {
	client     client.WithWatch
	config     *rest.Config
	kubeconfig string
	outside    *outside
	// log is the end of the controller's log; empty if unknown.
	log func() string
}

// TestConformance tests Yuba in both of its homes, or the home of -kubeconfig.
func TestConformance(t *testing.T) {
	if givenKubeconfig() != "" {
		t.Run("given", func(t *testing.T) { run(t, givenHome(t)) })
		return
	}
	installBeside(t)
	t.Run("embedded", func(t *testing.T) { run(t, embeddedHome(t)) })
	t.Run("cluster", func(t *testing.T) { run(t, clusterHome(t)) })
}

// embeddedHome is Yuba with its own API.
func embeddedHome(t *testing.T) *home {
	t.Helper()
	dir := t.TempDir()
	api, _ := freeAddress(t)
	http, _ := freeAddress(t)
	up := func() *process {
		p := start(t, yubaProgram, "up", "--data-dir", dir, "--api-address", api, "--http-address", http, "--registry-address", "127.0.0.1:0", "--tofu", tofutest.Tofu(t), "-v")
		p.said(t, "Yuba is ready")
		return p
	}
	// Yuba detects the served source kinds at startup, so it restarts after they are installed.
	before := up()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	installFlux(t, open(t, kubeconfig).client)
	before.stop(t)
	h := open(t, kubeconfig)
	h.log = up().tail
	return h
}

// clusterHome is `yuba controller` on the API of a cluster.
func clusterHome(t *testing.T) *home {
	t.Helper()
	kubeconfig := startCluster(t)
	h := open(t, kubeconfig)
	installYuba(t, h.client)
	installFlux(t, h.client)
	p := start(t, yubaProgram, "controller", "--kubeconfig", kubeconfig, "--data-dir", t.TempDir(), "--content-address", "127.0.0.1:0",
		"--tofu", tofutest.Tofu(t), "-v")
	p.said(t, "Yuba's controllers are ready")
	h.log = p.tail
	return h
}

// givenHome is the API and controller of -kubeconfig.
func givenHome(t *testing.T) *home {
	t.Helper()
	h := open(t, givenKubeconfig())
	h.log = func() string { return "" }
	installFlux(t, h.client)
	return h
}

// open makes a client for an API.
func open(t *testing.T, kubeconfig string) *home {
	t.Helper()
	config, err := kubetest.Config(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return &home{client: c, config: config, kubeconfig: kubeconfig, outside: openOutside(t)}
}
