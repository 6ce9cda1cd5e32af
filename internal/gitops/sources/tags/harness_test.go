// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gitops/sources/git"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	apitest.Main(m)
}

// site is a namespace of a test's own, with a controller and a registry of its own. Its default
// service account may publish into a namespace of the registry named like it.
type site struct {
	t         *testing.T
	namespace string
	client    client.Client
	dir       string
	bucket    *blob.Plain
	catalog   *catalog.Catalog
	registry  *faulty
	publisher *Publisher
	events    *heard
	stop      context.CancelFunc
	stopped   chan error
}

func newSite(t *testing.T, change ...func(*Publisher)) *site {
	t.Helper()
	s := &site{t: t, namespace: apitest.Namespace(t), client: apitest.Client(t), dir: t.TempDir()}
	var err error
	if s.bucket, err = blob.OpenPlain(t.Context(), "file://"+filepath.Join(s.dir, "registry")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.bucket.Close() })
	if s.catalog, err = catalog.Open(t.Context(), s.bucket, catalog.Options{Spool: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	s.registry = &faulty{Catalog: s.catalog}
	s.allow(s.namespace)
	s.start(change...)
	t.Cleanup(s.end)
	return s
}

// allow lets the default service account publish into a namespace of the registry.
func (s *site) allow(registry string) {
	s.t.Helper()
	s.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "publish-" + s.namespace + "-" + registry},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"content.yuba.dev"}, Resources: []string{"modules"}, ResourceNames: []string{registry}, Verbs: []string{"update"}}}})
	s.create(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "publish-" + s.namespace + "-" + registry},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "publish-" + s.namespace + "-" + registry},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.namespace, Name: "default"}}})
}

// start starts the controller; after end it knows what a server that was started anew would.
func (s *site) start(change ...func(*Publisher)) {
	s.t.Helper()
	s.events = &heard{}
	config := rest.CopyConfig(apitest.API(s.t).RESTConfig())
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: kubetest.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{s.namespace: {}}}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.publisher = &Publisher{Client: s.client, Reader: s.client, Events: s.events, Registry: s.registry, Dir: filepath.Join(s.dir, "tags"), Log: slog.New(slog.DiscardHandler)}
	if s.publisher.Git, err = git.Open(filepath.Join(s.dir, "git"), git.Options{News: s.publisher.GitNews}); err != nil {
		s.t.Fatal(err)
	}
	for _, c := range change {
		c(s.publisher)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.stopped = cancel, make(chan error, 1)
	if err := s.publisher.SetupWithManager(ctx, mgr); err != nil {
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

// faulty is the real registry, which a test can break.
type faulty struct {
	*catalog.Catalog
	mu        sync.Mutex
	fault     error
	published int
}

func (f *faulty) Publish(ctx context.Context, v layout.ModuleVersion, r io.Reader, opts catalog.PublishOptions) (catalog.Release, catalog.Changes, error) {
	f.mu.Lock()
	fault := f.fault
	f.published++
	f.mu.Unlock()
	if fault != nil {
		return catalog.Release{}, catalog.Changes{}, fault
	}
	return f.Catalog.Publish(ctx, v, r, opts)
}

func (f *faulty) breakWith(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = err
}

func (f *faulty) attempts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.published
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

// source is a ModuleSource of an hour's interval, for NAMESPACE/NAME/SYSTEM=PATH in the site's
// namespace of the registry.
func (s *site) source(url string, modules []string, change ...func(*yubav1.ModuleSource)) *yubav1.ModuleSource {
	s.t.Helper()
	o := &yubav1.ModuleSource{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, GenerateName: "source-"},
		Spec: yubav1.ModuleSourceSpec{URL: url, Interval: metav1.Duration{Duration: time.Hour}}}
	for _, text := range modules {
		name, path, _ := strings.Cut(text, "=")
		o.Spec.Modules = append(o.Spec.Modules, yubav1.ModuleSourceModule{Name: s.namespace + "/" + name, Path: path})
	}
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

// ask requests a look, and waits for its result.
func (s *site) ask(o *yubav1.ModuleSource, request string) {
	s.t.Helper()
	s.change(o, func() { o.Annotations = map[string]string{meta.ReconcileRequestAnnotation: request} })
	s.await(o, "it answers the request", func() bool { return o.Status.LastHandledReconcileAt == request && !working(o) })
}

func working(o *yubav1.ModuleSource) bool {
	return conditions.Of(o, meta.ReadyCondition).Status == metav1.ConditionUnknown
}

// await waits until an object is as it should be.
func (s *site) await(o *yubav1.ModuleSource, what string, ok func() bool) {
	s.t.Helper()
	eventually(s.t, func() error {
		if err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if !ok() {
			return fmt.Errorf("not yet: %s; %+v", what, o.Status)
		}
		return nil
	})
}

// ready waits until an object is ready, with a part of the message.
func (s *site) ready(o *yubav1.ModuleSource, message string) {
	s.t.Helper()
	s.await(o, "it is ready: "+message, func() bool {
		c := conditions.Of(o, meta.ReadyCondition)
		return c.Status == metav1.ConditionTrue && c.ObservedGeneration == o.Generation && strings.Contains(c.Message, message)
	})
}

// failed waits until an object is not ready for a reason, and returns the message.
func (s *site) failed(o *yubav1.ModuleSource, reason string) string {
	s.t.Helper()
	s.await(o, "it is not ready: "+reason, func() bool {
		c := conditions.Of(o, meta.ReadyCondition)
		return c.Status == metav1.ConditionFalse && c.ObservedGeneration == o.Generation && c.Reason == reason
	})
	return conditions.Of(o, meta.ReadyCondition).Message
}

// refused returns the refused tags as "TAG: REASON".
func refused(o *yubav1.ModuleSource) string {
	var all []string
	for _, r := range o.Status.RefusedTags {
		all = append(all, r.Tag+": "+r.Reason)
	}
	return strings.Join(all, ", ")
}

// versions lists the published versions of a module, newest first, as VERSION@TAG.
func (s *site) versions(module string) string {
	s.t.Helper()
	m, err := layout.ParseModule(s.namespace + "/" + module)
	if err != nil {
		s.t.Fatal(err)
	}
	list, err := s.catalog.Versions(s.t.Context(), m)
	if err != nil && !errors.Is(err, catalog.ErrNone) {
		s.t.Fatal(err)
	}
	var all []string
	for _, r := range list {
		from := "nowhere"
		if r.From != nil {
			from = r.From.Tag
		}
		all = append(all, r.Version+"@"+from)
	}
	return strings.Join(all, " ")
}

// files returns the files of a published version.
func (s *site) files(module, version string) map[string]string {
	s.t.Helper()
	v, err := layout.ParseModuleVersion(s.namespace + "/" + module + "@" + version)
	if err != nil {
		s.t.Fatal(err)
	}
	r, _, err := s.catalog.Archive(s.t.Context(), v)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Close()
	z, err := gzip.NewReader(r)
	if err != nil {
		s.t.Fatal(err)
	}
	files := map[string]string{}
	for t := tar.NewReader(z); ; {
		header, err := t.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			s.t.Fatal(err)
		}
		content, err := io.ReadAll(t)
		if err != nil {
			s.t.Fatal(err)
		}
		files[header.Name] = string(content)
	}
}

// trees counts temporary trees.
func (s *site) trees() int {
	entries, err := os.ReadDir(filepath.Join(s.dir, "tags"))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(entries)
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

// module returns the files of a module in a directory of a repository, with a required input.
func module(dir, input string) gittest.Files {
	return gittest.Files{filepath.Join(dir, "main.tf"): fmt.Sprintf("variable %q {\n  type = string\n}\n\noutput \"name\" {\n  value = var.%s\n}\n", input, input)}
}
