// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

func acme() *tenantv1.Tenant {
	return &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "acme-web", UID: "u1"}}
}

func inNamespace(namespace string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	u.SetName("c")
	u.SetNamespace(namespace)
	return u
}

// eventually waits until the sentence is true.
func eventually(t *testing.T, sentence string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it is not", sentence)
		}
	}
}

// world is a test's namespace, with a controller whose passes the test runs.
type world struct {
	t         *testing.T
	r         *Controller
	c         client.Client
	namespace string
	// asked counts the controller's requests without watches.
	asked atomic.Int32
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, namespace: apitest.Namespace(t)}
	s := kubetest.Scheme()
	w.must(tenantv1.AddToScheme(s))
	config := rest.CopyConfig(apitest.API(t).RESTConfig())
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.URL.Query().Get("watch") == "" {
				w.asked.Add(1)
			}
			return next.RoundTrip(req)
		})
	})
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: s, Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard()})
	w.must(err)
	w.c, err = client.New(config, client.Options{Scheme: s})
	w.must(err)
	api := &passes.API{Client: w.c, Reader: w.c, Cached: mgr.GetCache(), Fresh: fresh.New(mgr.GetCache(), w.c), Events: &events.FakeRecorder{}, Config: config,
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Base: t.Context()}
	w.r, err = New(t.Context(), mgr, api, nil)
	w.must(err)
	go func() {
		if err := mgr.Start(t.Context()); err != nil {
			slog.Error("the test's manager ended", "error", err)
		}
	}()
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// pass runs a pass over the tenant.
func (w *world) pass() {
	w.t.Helper()
	_, err := w.r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "acme-web"}})
	w.must(err)
}

// made creates a tenant with one ConfigMap, and returns it when it is ready.
func (w *world) made() *tenantv1.Tenant {
	w.t.Helper()
	settings := tenantv1.TResource{ID: "settings", NameTemplate: "acme-settings"}
	settings.Spec.Object = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"plan": "pro"}}
	tenant := &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "acme-web", Labels: map[string]string{tenantv1.LabelUID: "acme"}},
		Spec: tenantv1.TenantSpec{UID: "acme", TemplateRef: "web", Resources: tenantv1.Resources{ConfigMaps: []tenantv1.TResource{settings}}}}
	w.must(w.c.Create(w.t.Context(), tenant))
	eventually(w.t, "the tenant is ready", func() bool {
		w.pass()
		w.must(w.c.Get(w.t.Context(), client.ObjectKeyFromObject(tenant), tenant))
		return passes.StandingOf(tenant).Ready
	})
	return tenant
}

// After a restart the controller has no memory, and finds everything in the status.
func TestAPassAfterARestartAsksNothing(t *testing.T) {
	w := newWorld(t)
	tenant := w.made()
	eventually(t, "the watches have the object and the tenant's last write", func() bool {
		m, _ := w.r.Clusters.Home.Watch.Get(refOf(&tenant.Status.Inventory[0]).ID)
		cached := &tenantv1.Tenant{}
		w.must(w.r.Cached.Get(t.Context(), client.ObjectKeyFromObject(tenant), cached))
		return m != nil && cached.ResourceVersion == tenant.ResourceVersion
	})
	w.r.drop(client.ObjectKeyFromObject(tenant))
	before := w.asked.Load()
	w.pass()
	if n := w.asked.Load() - before; n > 0 {
		t.Errorf("it asked %d times", n)
	}
}
