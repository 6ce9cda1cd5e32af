// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/yuba-dev/yuba/internal/blob"
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
	dir   string
	err   error
}

// programs builds yuba-helm and yuba-sandbox.
func programs() error {
	for _, args := range [][]string{{"build", "-o", running.dir, "../../../../cmd/yuba-sandbox"}, {"build", "-C", "../../../../cmd/yuba-helm", "-o", running.dir, "."}} {
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	return nil
}

func startController(config *rest.Config) (err error) {
	if running.dir, err = os.MkdirTemp("", "yuba-helmrelease-"); err != nil {
		return err
	}
	if err := programs(); err != nil {
		return err
	}
	key, err := blob.LoadOrCreateKey(filepath.Join(running.dir, "key"))
	if err != nil {
		return err
	}
	if running.store, err = blob.Open(context.Background(), "file://"+filepath.Join(running.dir, "blobs"), key); err != nil {
		return err
	}
	ctrl.SetLogger(logr.Discard())
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: kubetest.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	direct, err := client.NewWithWatch(config, client.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		return err
	}
	r := &Reconciler{Client: direct, Reader: direct, Events: mgr.GetEventRecorder("yuba"), Config: config, Archives: running.store, Now: time.Now, MaxProcessor: 10 * time.Second,
		Programs: func(name string) (string, error) { return filepath.Join(running.dir, name), nil }, Log: slog.New(slog.DiscardHandler)}
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
}

// world is a test's namespace, with a service account "deployer" that may do everything in it.
type world struct {
	t         testing.TB
	c         client.WithWatch
	namespace string
	patience  time.Duration
}

func newWorld(t testing.TB) *world {
	t.Helper()
	config := rest.CopyConfig(apitest.API(t).RESTConfig())
	running.once.Do(func() { running.err = startController(config) })
	if running.err != nil {
		t.Fatalf("start the controller: %v", running.err)
	}
	w := &world{t: t, c: apitest.Client(t), namespace: apitest.Namespace(t), patience: patience}
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "deployer"}})
	w.bind("admin")
	return w
}

// bind gives the service account a role in the namespace.
func (w *world) bind(role string) {
	w.t.Helper()
	w.create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "deployer", Namespace: w.namespace}}})
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	o.SetNamespace(w.namespace)
	w.must(w.c.Create(w.t.Context(), o))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// chart is a chart's files below its directory; Chart.yaml is added.
func chart(version string, files map[string]string) []byte {
	all := maps.Clone(files)
	if _, ok := all["Chart.yaml"]; !ok {
		all["Chart.yaml"] = "apiVersion: v2\nname: app\nversion: " + version + "\n"
	}
	var entries []*tar.Header
	contents := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		entries = append(entries, &tar.Header{Name: "app/" + name, Mode: 0o644, Size: int64(len(all[name]))})
		contents["app/"+name] = all[name]
	}
	return archived(entries, contents)
}

func archived(entries []*tar.Header, contents map[string]string) []byte {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	t := tar.NewWriter(zipped)
	for _, e := range entries {
		if err := t.WriteHeader(e); err != nil {
			panic(err)
		}
		if _, err := t.Write([]byte(contents[e.Name])); err != nil {
			panic(err)
		}
	}
	_ = t.Close()
	_ = zipped.Close()
	return packed.Bytes()
}

// settings is a template with a ConfigMap.
const settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {greeting: {{ .Values.greeting | default \"hello\" | quote }}, secret: {{ .Values.secret | default \"none\" | quote }}}\n"

func simple(version string) []byte {
	return chart(version, map[string]string{"templates/settings.yaml": settings})
}

// publish makes a chart the artifact of the ExternalArtifact "chart".
func (w *world) publish(revision string, packed []byte) {
	w.t.Helper()
	ctx := w.t.Context()
	digest, size, err := running.store.PutArtifact(ctx, bytes.NewReader(packed), 1<<30)
	w.must(err)
	src := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "chart"}}
	if err := w.c.Create(ctx, src.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
	w.must(w.c.Get(ctx, client.ObjectKeyFromObject(src), src))
	before := src.DeepCopy()
	src.Status.Artifact = &meta.Artifact{URL: "http://x/y", Path: "y", Digest: digest, Revision: revision, Size: &size, LastUpdateTime: metav1.Now()}
	w.must(w.c.Status().Patch(ctx, src, client.MergeFrom(before)))
}

// release is a HelmRelease of the chart.
func (w *world) release(change func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	w.t.Helper()
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Spec: helmv2.HelmReleaseSpec{Interval: metav1.Duration{Duration: time.Hour}, ServiceAccountName: "deployer",
		Timeout: &metav1.Duration{Duration: 30 * time.Second}, ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: sourcev1.ExternalArtifactKind, Name: "chart"}}}
	if change != nil {
		change(hr)
	}
	w.create(hr)
	return hr
}

// change changes the HelmRelease.
func (w *world) change(hr *helmv2.HelmRelease, change func(*helmv2.HelmRelease)) {
	w.t.Helper()
	w.read(hr)
	before := hr.DeepCopy()
	change(hr)
	w.must(w.c.Patch(w.t.Context(), hr, client.MergeFrom(before)))
}

func (w *world) read(o client.Object) {
	w.t.Helper()
	w.must(w.c.Get(w.t.Context(), client.ObjectKeyFromObject(o), o))
}

// await waits until the HelmRelease is as the condition says.
func (w *world) await(hr *helmv2.HelmRelease, what string, condition func(*helmv2.HelmRelease) bool) {
	w.t.Helper()
	w.eventually(what, func() bool {
		w.read(hr)
		return condition(hr)
	}, func() string { return fmt.Sprintf("%+v", hr.Status) })
}

func (w *world) eventually(what string, condition func() bool, state func() string) {
	w.t.Helper()
	for end := time.Now().Add(w.patience); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%s: never: %s", what, state())
		}
	}
}

// ready waits until the HelmRelease is ready in its generation.
func (w *world) ready(hr *helmv2.HelmRelease) {
	w.t.Helper()
	w.await(hr, "ready", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.ObservedGeneration == hr.Generation && condition(hr, meta.ReadyCondition).Status == metav1.ConditionTrue
	})
}

// notReady waits until the HelmRelease is not ready for a reason, and returns the message.
func (w *world) notReady(hr *helmv2.HelmRelease, reason string) string {
	w.t.Helper()
	w.await(hr, "not ready: "+reason, func(hr *helmv2.HelmRelease) bool {
		c := condition(hr, meta.ReadyCondition)
		return c.Status == metav1.ConditionFalse && c.Reason == reason && c.ObservedGeneration == hr.Generation
	})
	return condition(hr, meta.ReadyCondition).Message
}

// stalled waits until the HelmRelease gives up.
func (w *world) stalled(hr *helmv2.HelmRelease, reason string) {
	w.t.Helper()
	w.await(hr, "stalled: "+reason, func(hr *helmv2.HelmRelease) bool {
		c := condition(hr, meta.StalledCondition)
		return c.Status == metav1.ConditionTrue && c.Reason == reason && c.ObservedGeneration == hr.Generation
	})
}

func condition(hr *helmv2.HelmRelease, kind string) metav1.Condition { return conditions.Of(hr, kind) }

// values are spec.values.
func values(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }

// settingsAre waits for the data of the chart's ConfigMap.
func (w *world) settingsAre(key, want string) {
	w.t.Helper()
	var is corev1.ConfigMap
	w.eventually("settings: "+key+"="+want, func() bool {
		err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "settings"}, &is)
		return err == nil && is.Data[key] == want
	}, func() string { return fmt.Sprint(is.Data) })
}

// gone waits until an object does not exist.
func (w *world) gone(o client.Object, name string) {
	w.t.Helper()
	w.eventually(name+" is gone", func() bool {
		return apierrors.IsNotFound(w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o))
	}, func() string { return fmt.Sprint(o) })
}

// told waits for an event with a reason, and returns its text.
func (w *world) told(reason string) string {
	w.t.Helper()
	var note string
	var list eventsv1.EventList
	w.eventually("event "+reason, func() bool {
		w.must(w.c.List(w.t.Context(), &list, client.InNamespace(w.namespace)))
		for _, e := range list.Items {
			if e.Reason == reason {
				note = e.Note
				return true
			}
		}
		return false
	}, func() string {
		var reasons []string
		for _, e := range list.Items {
			reasons = append(reasons, e.Reason+": "+e.Note)
		}
		return strings.Join(reasons, "\n")
	})
	return note
}

// has fails unless a text contains all parts.
func has(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

// lacks fails if a text contains a part.
func lacks(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is in:\n%s", part, text)
		}
	}
}
