// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/build"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// patience is the time limit on a busy machine.
const patience = 90 * time.Second

// running is the controller that all tests share.
var running struct {
	once  sync.Once
	r     *Reconciler
	store *blob.Store
	err   error
	// requests are the controller's, except watches.
	requests requestLog
	// lost makes the writes of a namespace's statuses fail.
	lost sync.Map
	// attempts are the observed ones.
	attempts attemptLog
}

// requestLog records every request.
type requestLog struct {
	mu   sync.Mutex
	list []string
}

func (l *requestLog) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.URL.Query().Get("watch") == "" {
			l.mu.Lock()
			l.list = append(l.list, req.Method+" "+req.URL.Path+"?"+req.URL.RawQuery)
			l.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// of returns the requests about a namespace since a mark.
func (l *requestLog) of(namespace string, since int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, r := range l.list[since:] {
		if strings.Contains(r, "/"+namespace+"/") || strings.Contains(r, "/"+namespace+"?") {
			out = append(out, r)
		}
	}
	return out
}

func (l *requestLog) mark() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.list)
}

func startController() error {
	dir, err := os.MkdirTemp("", "yuba-kustomization-")
	if err != nil {
		return err
	}
	key, err := blob.LoadOrCreateKey(filepath.Join(dir, "key"))
	if err != nil {
		return err
	}
	if running.store, err = blob.Open(context.Background(), "file://"+filepath.Join(dir, "blobs"), key); err != nil {
		return err
	}
	return nil
}

// sharedController starts the shared controller.
func sharedController(t testing.TB) *Reconciler {
	t.Helper()
	config := rest.CopyConfig(apitest.API(t).RESTConfig())
	running.once.Do(func() {
		running.err = func() error {
			if err := startController(); err != nil {
				return err
			}
			ctrl.SetLogger(logr.Discard())
			config.Wrap(running.requests.wrap)
			mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: kubetest.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}})
			if err != nil {
				return err
			}
			direct, err := client.NewWithWatch(config, client.Options{Scheme: kubetest.Scheme()})
			if err != nil {
				return err
			}
			writing := interceptor.NewClient(direct, interceptor.Funcs{
				SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
					if lost, ok := running.lost.Load(obj.GetNamespace()); ok && lost.(func(client.Patch, client.Object) bool)(patch, obj) {
						return apierrors.NewInternalError(fmt.Errorf("the test loses this write"))
					}
					return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
				},
			})
			r := &Reconciler{Client: writing, Reader: direct, Events: mgr.GetEventRecorder("yuba"), Config: config, Archives: running.store,
				Limits: archive.Limits{}.WithDefaults(), Build: build.Build, Now: time.Now, Log: slog.New(slog.DiscardHandler),
				Observe: running.attempts.add}
			if err := r.SetupWithManager(context.Background(), mgr); err != nil {
				return err
			}
			running.r = r
			go func() {
				if err := mgr.Start(context.Background()); err != nil {
					slog.Error("the test's manager ended", "error", err)
				}
			}()
			return nil
		}()
	})
	if running.err != nil {
		t.Fatalf("start the controller: %v", running.err)
	}
	return running.r
}

// world is a test's namespace with a source.
type world struct {
	t         testing.TB
	r         *Reconciler
	c         client.WithWatch
	namespace string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{t: t, r: sharedController(t), c: apitest.Client(t), namespace: apitest.Namespace(t)}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// publish makes files the artifact of a source.
func (w *world) publish(name, revision string, files map[string]string) {
	w.t.Helper()
	ctx := w.t.Context()
	dir := w.t.TempDir()
	for file, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(file))
		w.must(os.MkdirAll(filepath.Dir(path), 0o755))
		w.must(os.WriteFile(path, []byte(strings.ReplaceAll(content, "NAMESPACE", w.namespace)), 0o644))
	}
	var packed bytes.Buffer
	_, _, err := archive.Pack(ctx, dir, &packed, archive.PackOptions{})
	w.must(err)
	digest, size, err := running.store.PutArtifact(ctx, &packed, 1<<30)
	w.must(err)
	src := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if err := w.c.Create(ctx, src.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
	w.must(w.c.Get(ctx, client.ObjectKeyFromObject(src), src))
	src.Status.Artifact = &meta.Artifact{Digest: digest, Revision: revision, Size: &size, LastUpdateTime: metav1.Now(), Path: "x", URL: "http://127.0.0.1/x"}
	w.must(w.c.Status().Update(ctx, src))
}

// kustomization makes a Kustomization of the source "src", pruned and reconciled once an hour.
func (w *world) kustomization(name string, change func(*kustomizev1.KustomizationSpec)) *kustomizev1.Kustomization {
	w.t.Helper()
	k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Spec: kustomizev1.KustomizationSpec{
		Interval: metav1.Duration{Duration: time.Hour}, RetryInterval: &metav1.Duration{Duration: time.Hour}, Prune: true,
		SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "ExternalArtifact", Name: "src"},
	}}
	if change != nil {
		change(&k.Spec)
	}
	w.must(w.c.Create(w.t.Context(), k))
	return k
}

func (w *world) get(name string) *kustomizev1.Kustomization {
	w.t.Helper()
	var k kustomizev1.Kustomization
	w.must(w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &k))
	return &k
}

// update changes a Kustomization.
func (w *world) update(name string, change func(*kustomizev1.Kustomization)) {
	w.t.Helper()
	k := w.get(name)
	before := k.DeepCopy()
	change(k)
	w.must(w.c.Patch(w.t.Context(), k, client.MergeFrom(before)))
}

// eventually waits until the sentence is true.
func (w *world) eventually(sentence string, so func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for !so() {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: not after %s\n%s", sentence, patience, w.describe())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// describe shows all Kustomizations of the namespace.
func (w *world) describe() string {
	var list kustomizev1.KustomizationList
	if err := w.c.List(context.Background(), &list, client.InNamespace(w.namespace)); err != nil {
		return err.Error()
	}
	var out strings.Builder
	for _, k := range list.Items {
		fmt.Fprintf(&out, "%s (generation %d, observed %d, applied %q, attempted %q)\n", k.Name, k.Generation, k.Status.ObservedGeneration, k.Status.LastAppliedRevision, k.Status.LastAttemptedRevision)
		for _, c := range k.Status.Conditions {
			fmt.Fprintf(&out, "    %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return out.String()
}

// ready waits until a Kustomization has applied a revision and is ready.
func (w *world) ready(name, revision string) *kustomizev1.Kustomization {
	w.t.Helper()
	var k *kustomizev1.Kustomization
	w.eventually(name+" is ready at "+revision, func() bool {
		k = w.get(name)
		return isReady(k) && k.Status.LastAppliedRevision == revision && k.Status.ObservedGeneration == k.Generation
	})
	return k
}

// failing waits until a Kustomization's Ready is False for a reason, and returns the message.
func (w *world) failing(name, reason string) string {
	w.t.Helper()
	var c metav1.Condition
	w.eventually(name+" fails with "+reason, func() bool {
		c = conditions.Of(w.get(name), meta.ReadyCondition)
		return c.Status == metav1.ConditionFalse && c.Reason == reason
	})
	return c.Message
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	w.t.Helper()
	var cm corev1.ConfigMap
	err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &cm)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.must(err)
	return &cm
}

// configMap is a manifest.
func configMap(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: NAMESPACE\ndata:\n  key: %q\n---\n", name, value)
}

// configMaps are manifests.
func configMaps(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString(configMap(fmt.Sprintf("cm-%03d", i), "v"))
	}
	return out.String()
}

// pass makes one pass, once the controller is idle, and returns its requests.
func (w *world) pass(name string) []string {
	w.t.Helper()
	w.quiet()
	mark := running.requests.mark()
	_, err := w.r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: name}})
	w.must(err)
	return running.requests.of(w.namespace, mark)
}

// quiet waits until the controller makes no more requests about the namespace.
func (w *world) quiet() {
	w.t.Helper()
	var at int
	var since time.Time
	w.eventually("nothing is asked any more", func() bool {
		if now := len(running.requests.of(w.namespace, 0)); now != at || since.IsZero() {
			at, since = now, time.Now()
		}
		return time.Since(since) > 300*time.Millisecond
	})
}
