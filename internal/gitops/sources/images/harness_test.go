// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/yuba-dev/yuba/internal/gitops/sources/git"
	"github.com/yuba-dev/yuba/internal/gitops/sources/oci"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	apitest.Main(m)
}

// site is a namespace of a test's own, with controllers of its own.
type site struct {
	t         *testing.T
	namespace string
	also      []string
	client    client.Client
	dir       string
	images    *Images
	events    *heard
	stop      context.CancelFunc
	stopped   chan error
}

func newSite(t *testing.T, also ...string) *site {
	t.Helper()
	s := &site{t: t, namespace: apitest.Namespace(t), also: also, client: apitest.Client(t), dir: t.TempDir()}
	s.start()
	t.Cleanup(func() { s.end() })
	return s
}

// start starts the controllers; after end they know what a server that was started anew would.
func (s *site) start(change ...func(*Images)) {
	s.t.Helper()
	s.events = &heard{}
	namespaces := map[string]cache.Config{s.namespace: {}}
	for _, name := range s.also {
		namespaces[name] = cache.Config{}
	}
	mgr, err := ctrl.NewManager(rest.CopyConfig(apitest.API(s.t).RESTConfig()), ctrl.Options{Scheme: kubetest.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: namespaces}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.images = &Images{Client: s.client, Reader: s.client, Events: s.events, Registries: oci.New(), Log: slog.New(slog.DiscardHandler)}
	if s.images.Git, err = git.Open(filepath.Join(s.dir, "git"), git.Options{}); err != nil {
		s.t.Fatal(err)
	}
	for _, c := range change {
		c(s.images)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.stopped = cancel, make(chan error, 1)
	if err := s.images.SetupWithManager(ctx, mgr); err != nil {
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

// heard collects events.
type heard struct {
	mu   sync.Mutex
	said []string
}

func (h *heard) Eventf(_, _ runtime.Object, eventtype, reason, _, note string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, fmt.Sprintf("%s %s: %s", eventtype, reason, fmt.Sprintf(note, args...)))
}

func (h *heard) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.said, "\n")
}

// told waits for an event with these words: events follow the status that they explain.
func (s *site) told(words string) {
	s.t.Helper()
	eventually(s.t, func() error {
		if said := s.events.all(); !strings.Contains(said, words) {
			return fmt.Errorf("no event %q in\n%s", words, said)
		}
		return nil
	})
}

func (s *site) create(o client.Object) {
	s.t.Helper()
	if err := s.client.Create(s.t.Context(), o); err != nil {
		s.t.Fatal(err)
	}
}

// hour is the interval of all objects.
var hour = metav1.Duration{Duration: time.Hour}

// named is the metadata of an object of the site.
func (s *site) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: name}
}

// scanned is an ImageRepository.
func (s *site) scanned(image string, change ...func(*imagev1.ImageRepository)) *imagev1.ImageRepository {
	s.t.Helper()
	o := &imagev1.ImageRepository{ObjectMeta: s.named("app"), Spec: imagev1.ImageRepositorySpec{Image: image, Interval: hour, Insecure: true}}
	for _, c := range change {
		c(o)
	}
	s.create(o)
	return o
}

// policy is an ImagePolicy for the ImageRepository app, by a range of versions.
func (s *site) policy(name, within string, change ...func(*imagev1.ImagePolicy)) *imagev1.ImagePolicy {
	s.t.Helper()
	o := &imagev1.ImagePolicy{ObjectMeta: s.named(name), Spec: imagev1.ImagePolicySpec{ImageRepositoryRef: meta.NamespacedObjectReference{Name: "app"},
		Policy: imagev1.ImagePolicyChoice{SemVer: &imagev1.SemVerPolicy{Range: within}}}}
	for _, c := range change {
		c(o)
	}
	s.create(o)
	return o
}

// repository is a GitRepository infra of the branch main.
func (s *site) repository(url string, change ...func(*sourcev1.GitRepository)) *sourcev1.GitRepository {
	s.t.Helper()
	o := &sourcev1.GitRepository{ObjectMeta: s.named("infra"), Spec: sourcev1.GitRepositorySpec{URL: url, Interval: hour, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}}
	for _, c := range change {
		c(o)
	}
	s.create(o)
	return o
}

// automation is an ImageUpdateAutomation of the GitRepository infra.
func (s *site) automation(change ...func(*automationv1.ImageUpdateAutomation)) *automationv1.ImageUpdateAutomation {
	s.t.Helper()
	o := &automationv1.ImageUpdateAutomation{ObjectMeta: s.named("app"), Spec: automationv1.ImageUpdateAutomationSpec{Interval: hour,
		SourceRef: automationv1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "infra"},
		GitSpec:   &automationv1.GitSpec{Commit: automationv1.CommitSpec{Author: automationv1.CommitUser{Name: "Yuba", Email: "yuba@example.com"}}}}}
	for _, c := range change {
		c(o)
	}
	s.create(o)
	return o
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

// ask requests a reconciliation.
func (s *site) ask(o client.Object) {
	s.t.Helper()
	s.change(o, func() { o.SetAnnotations(map[string]string{meta.ReconcileRequestAnnotation: rand.Text()}) })
}

// await waits until an object is as it should be.
func (s *site) await(o object, what string, ok func() bool) {
	s.t.Helper()
	eventually(s.t, func() error {
		if err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if !ok() {
			return fmt.Errorf("not yet: %s; %+v", what, o.GetConditions())
		}
		return nil
	})
}

// ready waits until an object is ready, with a part of the message.
func (s *site) ready(o object, message string) {
	s.t.Helper()
	s.await(o, "it is ready: "+message, func() bool {
		c := conditions.Of(o, meta.ReadyCondition)
		return c.Status == metav1.ConditionTrue && c.ObservedGeneration == o.GetGeneration() && strings.Contains(c.Message, message)
	})
}

// failed waits until an object is not ready for a reason, with words in the message.
func (s *site) failed(o object, reason string, words ...string) {
	s.t.Helper()
	s.await(o, "it is not ready: "+reason+" "+strings.Join(words, ", "), func() bool {
		c := conditions.Of(o, meta.ReadyCondition)
		ok := c.Status == metav1.ConditionFalse && c.ObservedGeneration == o.GetGeneration() && c.Reason == reason
		for _, word := range words {
			ok = ok && strings.Contains(c.Message, word)
		}
		return ok
	})
	for _, secret := range []string{"s3cret", "PRIVATE KEY"} {
		if message := conditions.Of(o, meta.ReadyCondition).Message; strings.Contains(message, secret) {
			s.t.Errorf("the message contains a secret: %s", message)
		}
	}
}

// elects waits until a policy has an image.
func (s *site) elects(o *imagev1.ImagePolicy, tag string) {
	s.t.Helper()
	s.await(o, "it elects "+tag, func() bool { return o.Status.LatestRef != nil && o.Status.LatestRef.Tag == tag })
}

func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
