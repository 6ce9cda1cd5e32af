// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// childDirectory, in the environment, makes this test binary run one API there until it is killed.
const childDirectory = "YUBA_TEST_CONTROLPLANE_DIR"

// childOnce lets it stop once it is ready.
const childOnce = "YUBA_TEST_CONTROLPLANE_ONCE"

// shared is the API that most tests use.
var shared *ControlPlane

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDirectory); dir != "" {
		runChild(dir)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "yuba-controlplane-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	start := time.Now()
	options := testOptions(dir)
	options.Mount = mountWho
	shared, err = Start(context.Background(), options)
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the API for tests:", err)
		return 1
	}
	fmt.Fprintf(os.Stderr, "first start took %s\n", time.Since(start).Round(time.Millisecond))
	code := m.Run()
	start = time.Now()
	if err := shared.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "stop the API for tests:", err)
		return 1
	}
	fmt.Fprintf(os.Stderr, "stop took %s\n", time.Since(start).Round(time.Millisecond))
	return code
}

func testOptions(dir string) Options {
	level := slog.LevelWarn
	if os.Getenv("YUBA_TEST_DEBUG") != "" {
		level = slog.LevelDebug
	}
	return Options{
		DataDir: dir, APIAddress: "127.0.0.1:0", Version: "test",
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
		// etcd keeps it for the whole process: an API of a test's own would slow the shared one's
		// bookmarks down to its pace.
		etcdProgress: 200 * time.Millisecond,
	}
}

// startIn starts an API of the test's own, which ends with the test.
func startIn(t *testing.T, options Options) *ControlPlane {
	t.Helper()
	p, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, p) })
	return p
}

func stop(t *testing.T, p *ControlPlane) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func clientOf(t *testing.T, p *ControlPlane) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// newNamespace makes a namespace of the test's own.
func newNamespace(t *testing.T, p *ControlPlane) string {
	t.Helper()
	namespace, err := clientOf(t, p).CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// eventually asks until there is no error any more.
func eventually(t *testing.T, what string, ask func() error) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := ask()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited 30 s until %s: %v", what, err)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

func runChild(dir string) {
	p, err := Start(context.Background(), homeOptions(dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready")
	if os.Getenv(childOnce) != "" {
		if err := p.Stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(0)
	}
	<-p.Done()
	os.Exit(1)
}
