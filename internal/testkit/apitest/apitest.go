// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package apitest gives tests a real API: the embedded control plane with Yuba's kinds, one for
// each test binary, started when the first test asks for it.
//
// A package that uses it declares:
//
//	func TestMain(m *testing.M) { apitest.Main(m) }
//
// Tests share the API and keep apart by namespaces. The package links the control plane; tests that
// need only tofu use package tofutest.
package apitest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/config/crd"
	"github.com/yuba-dev/yuba/internal/home"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shared is the API of this test binary.
var shared struct {
	once    sync.Once
	usable  bool
	change  []func(*home.Options)
	dir     string
	control *home.ControlPlane
	err     error
}

// Main runs the tests, stops the API if it was started, and ends the process. changes adapt the
// API's options, for instance to mount handlers.
func Main(m *testing.M, change ...func(*home.Options)) {
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
func API(t testing.TB) *home.ControlPlane {
	t.Helper()
	if !shared.usable {
		t.Fatal("this package needs a TestMain that calls apitest.Main, to stop the API")
	}
	shared.once.Do(func() { shared.control, shared.err = start() })
	if shared.err != nil {
		t.Fatalf("start the API for tests: %v", shared.err)
	}
	return shared.control
}

func start() (*home.ControlPlane, error) {
	dir, err := os.MkdirTemp("", "yuba-apitest-")
	if err != nil {
		return nil, err
	}
	shared.dir = dir
	options := home.Options{
		DataDir:    dir,
		APIAddress: "127.0.0.1:0",
		Version:    "test",
		CRDs:       crd.Embedded,
		Log:        slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	for _, change := range shared.change {
		change(&options)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return home.Start(ctx, options)
}

// Client returns an administrator's client without a cache. It can watch.
func Client(t testing.TB) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(API(t).RESTConfig(), client.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		t.Fatalf("make a client for the API: %v", err)
	}
	return c
}

// Namespace creates a namespace for the test. It stays until the API ends with the test binary.
func Namespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := Client(t).Create(context.Background(), namespace); err != nil {
		t.Fatalf("make a namespace: %v", err)
	}
	return namespace.Name
}

// FullOfSecrets creates a quota that forbids more Secrets in a namespace, and returns when it is
// effective. The returned function deletes the quota.
func FullOfSecrets(t testing.TB, namespace string) (lift func()) {
	t.Helper()
	c := Client(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "full-"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/secrets": resource.MustParse("0")}}}
	if err := c.Create(context.Background(), quota); err != nil {
		t.Fatalf("make a quota: %v", err)
	}
	until := func(what string, reached func(error) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			err := c.Create(context.Background(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "probe-"}}, client.DryRunAll)
			if reached(err) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("wait until %s: a new Secret gets %v", what, err)
			}
		}
	}
	until("the quota holds", func(err error) bool { return err != nil && strings.Contains(err.Error(), "exceeded quota") })
	return func() {
		t.Helper()
		if err := c.Delete(context.Background(), quota); err != nil {
			t.Fatalf("take the quota away: %v", err)
		}
		until("the quota is gone", func(err error) bool { return err == nil })
	}
}
