// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gitops/sources/git"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	apitest.Main(m)
}

// site is a namespace of a test's own with controllers of its own.
type site struct {
	t         *testing.T
	namespace string
	client    client.Client
	dir       string
	blobs     *blob.Store
	sources   *Sources
	events    *heard
	// requests counts what the controllers ask of the API beside watching it.
	requests atomic.Int64
	stop     context.CancelFunc
	stopped  chan error
}

func newSite(t *testing.T, change ...func(*Sources)) *site {
	t.Helper()
	s := &site{t: t, namespace: apitest.Namespace(t), client: apitest.Client(t), dir: t.TempDir()}
	key, err := blob.LoadOrCreateKey(filepath.Join(s.dir, "blob.agekey"))
	if err != nil {
		t.Fatal(err)
	}
	if s.blobs, err = blob.Open(t.Context(), "file://"+s.dir+"/blobs", key); err != nil {
		t.Fatal(err)
	}
	s.start(change...)
	t.Cleanup(s.end)
	return s
}

// start starts the controllers; after end they know what a server that was started anew would.
func (s *site) start(change ...func(*Sources)) {
	s.t.Helper()
	s.events = &heard{}
	config := rest.CopyConfig(apitest.API(s.t).RESTConfig())
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: kubetest.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{s.namespace: {}}}})
	if err != nil {
		s.t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			s.requests.Add(1)
			return next.RoundTrip(r)
		})
	})
	counted, err := client.New(config, client.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.sources = &Sources{Client: counted, Reader: counted, Events: s.events, Store: s.blobs, Dir: filepath.Join(s.dir, "trees"), Log: slog.New(slog.DiscardHandler),
		ArchiveURL: func(plural string, name types.NamespacedName, digest string) string {
			return fmt.Sprintf("https://yuba.test/%s/%s?digest=%s&store=mine", plural, name.Name, digest)
		}}
	mirrors, err := git.Open(filepath.Join(s.dir, "git"), git.Options{News: s.sources.GitNews})
	if err != nil {
		s.t.Fatal(err)
	}
	s.sources.Git = NewGit(counted, mirrors)
	for _, c := range change {
		c(s.sources)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.stopped = cancel, make(chan error, 1)
	if err := s.sources.SetupWithManager(ctx, mgr); err != nil {
		s.t.Fatal(err)
	}
	go func() { s.stopped <- mgr.Start(ctx) }()
}

func (s *site) end() {
	s.stop()
	if err := <-s.stopped; err != nil {
		s.t.Error(err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// heard collects events.
type heard struct {
	mu   sync.Mutex
	said []string
}

func (h *heard) Eventf(regarding, _ runtime.Object, eventtype, reason, _, note string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, fmt.Sprintf("%s %s %s: %s", regarding.(client.Object).GetName(), eventtype, reason, fmt.Sprintf(note, args...)))
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string{}, h.said...)
}

// repository is a GitRepository of an hour's interval.
func (s *site) repository(name, url string, change ...func(*sourcev1.GitRepository)) *sourcev1.GitRepository {
	s.t.Helper()
	o := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: sourcev1.GitRepositorySpec{URL: url, Interval: metav1.Duration{Duration: time.Hour}, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}}
	for _, c := range change {
		c(o)
	}
	s.create(o)
	return o
}

func (s *site) create(o client.Object) {
	s.t.Helper()
	if err := s.client.Create(s.t.Context(), o); err != nil {
		s.t.Fatal(err)
	}
}

// change changes an object, whoever else writes it meanwhile.
func (s *site) change(o client.Object, change func()) {
	s.t.Helper()
	eventually(s.t, func() error {
		if err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change()
		return s.client.Update(s.t.Context(), o)
	})
}

// ask has an object looked at now, and waits until that is done.
func (s *site) ask(o Object, request string) {
	s.t.Helper()
	s.request(o, request)
	s.await(o, "it answers the request", func() bool { return s.handled(o) == request })
}

func (s *site) request(o Object, request string) {
	s.t.Helper()
	s.change(o, func() { o.SetAnnotations(map[string]string{meta.ReconcileRequestAnnotation: request}) })
}

func (s *site) handled(o Object) string {
	return *gitRepositories(nil).view(o).handled
}

// await waits until an object is as it should be.
func (s *site) await(o Object, what string, ok func() bool) {
	s.t.Helper()
	eventually(s.t, func() error {
		if err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if !ok() {
			return fmt.Errorf("waiting until %s: %s has the artifact %v and says\n%s\nevents:\n%s", what, o.GetName(), o.GetArtifact(), strings.Join(conditionLines(o), "\n"), strings.Join(s.events.all(), "\n"))
		}
		return nil
	})
}

// awaitRevision waits until the artifact is that of a revision, and the object is ready.
func (s *site) awaitRevision(o Object, revision string) {
	s.t.Helper()
	s.await(o, "it has "+revision, func() bool {
		return o.GetArtifact() != nil && o.GetArtifact().Revision == revision && conditions.Of(o, meta.ReadyCondition).Status == metav1.ConditionTrue
	})
}

// told waits until so many events are recorded, and returns all. An event comes after the status
// that it is about.
func (s *site) told(n int) []string {
	s.t.Helper()
	eventually(s.t, func() error {
		if said := s.events.all(); len(said) < n {
			return fmt.Errorf("waiting for %d events: %q", n, said)
		}
		return nil
	})
	return s.events.all()
}

// awaitFailure waits until Ready is False for a reason.
func (s *site) awaitFailure(o Object, reason string) {
	s.t.Helper()
	s.await(o, "it fails with "+reason, func() bool {
		ready := conditions.Of(o, meta.ReadyCondition)
		return ready.Status == metav1.ConditionFalse && ready.Reason == reason
	})
}

// conditionLines are those of an object, one a line.
func conditionLines(o Object) []string {
	var lines []string
	for _, c := range o.GetConditions() {
		lines = append(lines, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return lines
}

// tree reads the files of an object's artifact.
func (s *site) tree(o Object) map[string]string {
	s.t.Helper()
	packed, err := s.blobs.OpenArtifact(s.t.Context(), o.GetArtifact().Digest)
	if err != nil {
		s.t.Fatal(err)
	}
	defer packed.Close()
	content, err := io.ReadAll(packed)
	if err != nil {
		s.t.Fatal(err)
	}
	dir := filepath.Join(s.t.TempDir(), "tree")
	if _, err := archive.Extract(s.t.Context(), bytes.NewReader(content), dir, archive.Limits{}, o.GetArtifact().Digest); err != nil {
		s.t.Fatal(err)
	}
	files := map[string]string{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(content)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return files
}

func (s *site) secret(name string, data map[string]string) *corev1.Secret {
	s.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, StringData: data}
	s.create(secret)
	return secret
}

// eventually asks until the answer is right.
func eventually(t *testing.T, ask func() error) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(time.Minute)
	for err := ask(); err != nil; err = ask() {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-tick.C
	}
}
