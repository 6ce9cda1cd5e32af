// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package apitest gives tests a real API: the embedded control plane with Yuba's kinds, one for each test binary, started
// when the first test asks for it.
//
// A package that uses it says so once:
//
//	func TestMain(m *testing.M) { apitest.Main(m) }
//
// Tests share the API and keep apart by namespaces. The package links the control plane; tests that need only tofu use
// package tofutest.
package apitest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/config/crd"
	"github.com/yuba-dev/yuba/internal/controlplane"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shared is the API of this test binary.
var shared struct {
	once    sync.Once
	usable  bool
	change  []func(*controlplane.Options)
	dir     string
	control *controlplane.ControlPlane
	err     error
}

// Main runs the tests, stops the API if one was started and ends the process. Changes adapt the API's options, to mount
// handlers for instance.
func Main(m *testing.M, change ...func(*controlplane.Options)) {
	shared.usable, shared.change = true, change
	code := m.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the API for tests:", err)
		code = 1
	}
	os.Exit(code)
}

func stopShared() error {
	if shared.dir != "" {
		defer os.RemoveAll(shared.dir)
	}
	if shared.control == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return shared.control.Stop(ctx)
}

// API returns the test binary's API.
func API(t testing.TB) *controlplane.ControlPlane {
	t.Helper()
	if !shared.usable {
		t.Fatal("this package has no TestMain that calls apitest.Main, so nobody would stop the API")
	}
	shared.once.Do(func() { shared.control, shared.err = start() })
	if shared.err != nil {
		t.Fatalf("start the API for tests: %v", shared.err)
	}
	return shared.control
}

func start() (*controlplane.ControlPlane, error) {
	dir, err := os.MkdirTemp("", "yuba-apitest-")
	if err != nil {
		return nil, err
	}
	shared.dir = dir
	options := controlplane.Options{
		DataDir:    dir,
		APIAddress: "127.0.0.1:0",
		Version:    "test",
		CRDs:       crd.All,
		Log:        slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	for _, change := range shared.change {
		change(&options)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return controlplane.Start(ctx, options)
}

// Scheme returns a scheme that knows every kind of the API.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(infrav1.AddToScheme(scheme))
	utilruntime.Must(yubav1.AddToScheme(scheme))
	utilruntime.Must(tenantv1.AddToScheme(scheme))
	utilruntime.Must(sourcev1.AddToScheme(scheme))
	utilruntime.Must(kustomizev1.AddToScheme(scheme))
	utilruntime.Must(notificationv1.AddToScheme(scheme))
	utilruntime.Must(notificationv1beta3.AddToScheme(scheme))
	return scheme
}

// Client returns an administrator's client without a cache. It can watch.
func Client(t testing.TB) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(API(t).RESTConfig(), client.Options{Scheme: Scheme()})
	if err != nil {
		t.Fatalf("make a client for the API: %v", err)
	}
	return c
}

// Namespace makes a namespace of the test's own. It stays when the test ends; the whole API goes with the test binary.
func Namespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := Client(t).Create(context.Background(), namespace); err != nil {
		t.Fatalf("make a namespace: %v", err)
	}
	return namespace.Name
}
