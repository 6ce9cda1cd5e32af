// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// patience is the timeout on a busy machine.
const patience = 90 * time.Second

// running are the controllers shared by all tests.
var running struct {
	once     sync.Once
	r        *Tenants
	err      error
	requests requestLog
}

// requestLog records all requests of the controllers except watches.
type requestLog struct {
	mu   sync.Mutex
	list []string
	// refused selects requests that are answered as too large.
	refused map[*testing.T]func(*http.Request) bool
}

// refuse lets the API refuse requests until a test ends.
func (l *requestLog) refuse(t *testing.T, which func(*http.Request) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused == nil {
		l.refused = map[*testing.T]func(*http.Request) bool{}
	}
	l.refused[t] = which
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.refused, t)
	})
}

// isRefused reports whether a request is refused.
func (l *requestLog) isRefused(req *http.Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, which := range l.refused {
		if which(req) {
			return true
		}
	}
	return false
}

func (l *requestLog) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.URL.Query().Get("watch") == "" {
			l.mu.Lock()
			l.list = append(l.list, req.Method+" "+req.URL.Path)
			l.mu.Unlock()
		}
		if l.isRefused(req) {
			answer := `{"kind":"Status","apiVersion":"v1","status":"Failure","code":413,"reason":"RequestEntityTooLarge","message":"it is too large"}`
			return &http.Response{StatusCode: http.StatusRequestEntityTooLarge, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(answer)), Request: req}, nil
		}
		return next.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (l *requestLog) mark() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.list)
}

// of returns the requests about a namespace since a mark, without those for events.
func (l *requestLog) of(namespace string, since int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, r := range l.list[since:] {
		if (strings.Contains(r, "/"+namespace+"/") || strings.HasSuffix(r, "/"+namespace)) && !strings.Contains(r, "/events") {
			out = append(out, r)
		}
	}
	return out
}

func scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s := kubetest.Scheme()
	if err := tenantv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// sharedControllers starts the shared controllers.
func sharedControllers(t testing.TB) *Tenants {
	t.Helper()
	config := rest.CopyConfig(apitest.API(t).RESTConfig())
	running.once.Do(func() {
		running.err = func() error {
			ctrl.SetLogger(logr.Discard())
			config.QPS = -1
			config.Wrap(running.requests.wrap)
			mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme(t), Metrics: metricsserver.Options{BindAddress: "0"}})
			if err != nil {
				return err
			}
			direct, err := client.New(config, client.Options{Scheme: scheme(t)})
			if err != nil {
				return err
			}
			r := &Tenants{Client: direct, Reader: direct, Events: mgr.GetEventRecorder("yuba"), Config: config, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
			if err := r.SetupWithManager(context.Background(), mgr); err != nil {
				return err
			}
			if err := ctrl.NewControllerManagedBy(mgr).Named("stacks-that-go").For(&infrav1.Terraform{}).Complete(releasing(direct)); err != nil {
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
		t.Fatalf("start the controllers: %v", running.err)
	}
	return running.r
}

// releasing removes finalizers of deleted stacks, as their controller does without resources.
func releasing(c client.Client) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		stack := &infrav1.Terraform{}
		if err := c.Get(ctx, req.NamespacedName, stack); err != nil || stack.DeletionTimestamp == nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		before := stack.DeepCopy()
		stack.Finalizers = slices.DeleteFunc(stack.Finalizers, func(f string) bool { return f == infrav1.Finalizer })
		return ctrl.Result{}, client.IgnoreNotFound(c.Patch(ctx, stack, client.MergeFrom(before)))
	})
}

// world is a test's namespace.
type testWorld struct {
	t         testing.TB
	r         *Tenants
	c         client.Client
	namespace string
}

func newWorld(t testing.TB) *testWorld {
	t.Helper()
	r := sharedControllers(t)
	c, err := client.New(apitest.API(t).RESTConfig(), client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return &testWorld{t: t, r: r, c: c, namespace: apitest.Namespace(t)}
}

func (w *testWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// rows writes the table: CSV lines with the columns id, url, active and plan.
func (w *testWorld) rows(lines ...string) {
	w.t.Helper()
	table := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "table"},
		Data: map[string]string{"rows.csv": "id,url,active,plan\n" + strings.Join(lines, "\n") + "\n"}}
	err := w.c.Update(w.t.Context(), table)
	if apierrors.IsNotFound(err) {
		err = w.c.Create(w.t.Context(), table)
	}
	w.must(err)
}

// registry creates the registry "customers", which reads the table hourly and when it changes.
func (w *testWorld) registry(change func(*tenantv1.TenantRegistrySpec)) {
	w.t.Helper()
	reg := &tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "customers"}, Spec: tenantv1.TenantRegistrySpec{
		Source:             tenantv1.DataSource{Type: tenantv1.SourceConfigMap, SyncInterval: "1h", ConfigMap: &tenantv1.ConfigMapSource{Name: "table", Key: "rows.csv"}},
		ValueMappings:      tenantv1.ValueMappings{UID: "id", HostOrURL: "url", Activate: "active"},
		ExtraValueMappings: map[string]string{"plan": "plan"},
	}}
	if change != nil {
		change(&reg.Spec)
	}
	w.must(w.c.Create(w.t.Context(), reg))
}

// template creates or changes a template of the registry with further fields of its spec.
func (w *testWorld) template(name, text string) {
	w.t.Helper()
	made := &tenantv1.TenantTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "NAMESPACE", w.namespace)), &made.Spec); err != nil {
		w.t.Fatal(err)
	}
	made.Spec.RegistryID = "customers"
	now := &tenantv1.TenantTemplate{}
	err := w.c.Get(w.t.Context(), client.ObjectKeyFromObject(made), now)
	if apierrors.IsNotFound(err) {
		w.must(w.c.Create(w.t.Context(), made))
		return
	}
	w.must(err)
	before := now.DeepCopy()
	now.Spec = made.Spec
	w.must(w.c.Patch(w.t.Context(), now, client.MergeFrom(before)))
}

// update changes an object.
func update[T client.Object](w *testWorld, obj T, name string, change func(T)) {
	w.t.Helper()
	w.must(w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, obj))
	before, _ := obj.DeepCopyObject().(client.Object)
	change(obj)
	w.must(w.c.Patch(w.t.Context(), obj, client.MergeFrom(before)))
}

// get reads an object; false if it does not exist.
func get[T client.Object](w *testWorld, obj T, name string) (T, bool) {
	w.t.Helper()
	err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, obj)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	return obj, err == nil
}

func (w *testWorld) tenant(name string) *tenantv1.Tenant {
	w.t.Helper()
	t, _ := get(w, &tenantv1.Tenant{}, name)
	return t
}

func (w *testWorld) configMap(name string) (*corev1.ConfigMap, bool) {
	w.t.Helper()
	return get(w, &corev1.ConfigMap{}, name)
}

// eventually waits until the sentence is true.
func (w *testWorld) eventually(sentence string, so func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for !so() {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: not after %s\n%s", sentence, patience, w.describe())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// describe prints everything in the namespace.
func (w *testWorld) describe() string {
	var out strings.Builder
	show := func(kind, name string, conditions []metav1.Condition, more string) {
		fmt.Fprintf(&out, "%s %s %s\n", kind, name, more)
		for _, c := range conditions {
			fmt.Fprintf(&out, "    %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	ctx := context.Background()
	var registries tenantv1.TenantRegistryList
	var templates tenantv1.TenantTemplateList
	var tenants tenantv1.TenantList
	for _, list := range []client.ObjectList{&registries, &templates, &tenants} {
		if err := w.c.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return err.Error()
		}
	}
	for _, o := range registries.Items {
		show("TenantRegistry", o.Name, o.Status.Conditions, fmt.Sprintf("desired %d ready %d failed %d held %+v", o.Status.Desired, o.Status.Ready, o.Status.Failed, o.Status.Held))
	}
	for _, o := range templates.Items {
		show("TenantTemplate", o.Name, o.Status.Conditions, fmt.Sprintf("%+v", o.Status.Rollout))
	}
	for _, o := range tenants.Items {
		show("Tenant", o.Name, o.Status.Conditions, fmt.Sprintf("generation %d observed %d waiting %+v", o.Generation, o.Status.ObservedGeneration, o.Status.Waiting))
	}
	return out.String()
}

// condition is a condition of a tenant.
func (w *testWorld) condition(tenant, kind string) metav1.Condition {
	w.t.Helper()
	if c := apimeta.FindStatusCondition(w.tenant(tenant).Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// ready waits until a tenant's current generation is ready.
func (w *testWorld) ready(name string) *tenantv1.Tenant {
	w.t.Helper()
	var t *tenantv1.Tenant
	w.eventually(name+" is ready", func() bool {
		t = w.tenant(name)
		return t.Name != "" && passes.StandingOf(t).Ready
	})
	return t
}

// names lists the tenants.
func (w *testWorld) names() string {
	w.t.Helper()
	var list tenantv1.TenantList
	w.must(w.c.List(w.t.Context(), &list, client.InNamespace(w.namespace)))
	var names []string
	for _, t := range list.Items {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// quiet waits until the controllers send no more requests about the namespace.
func (w *testWorld) quiet() {
	w.t.Helper()
	var at int
	var since time.Time
	w.eventually("nothing is asked any more", func() bool {
		if now := len(running.requests.of(w.namespace, 0)); now != at || since.IsZero() {
			at, since = now, time.Now()
		}
		return time.Since(since) > 500*time.Millisecond
	})
}

// oneConfigMap is a template with a ConfigMap for each row.
const oneConfigMap = `
configMaps:
- id: settings
  nameTemplate: "{{ .uid }}-settings"
  spec: {apiVersion: v1, kind: ConfigMap, data: {plan: "{{ .plan }}", host: "{{ .host }}"}}
`
