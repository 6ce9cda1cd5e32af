// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/login"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// shared is the cache of all tests.
var shared struct {
	once sync.Once
	cache.Cache
	err error
}

func watchedObjects(t *testing.T) cache.Cache {
	t.Helper()
	shared.once.Do(func() {
		shared.Cache, shared.err = cache.New(apitest.API(t).RESTConfig(), cache.Options{Scheme: kubetest.Scheme()})
		if shared.err == nil {
			go shared.Start(context.Background()) //nolint:errcheck // it ends with the process
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.Cache
}

// testKey seals the sessions of all tests.
var testKey = login.RandomKey()

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	add time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.add)
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add += d
}

// world is a page on the API of the tests, and a browser without JavaScript.
type world struct {
	*testing.T
	page   *Web
	server *httptest.Server
	clock  *clock
}

func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := &world{T: t, clock: &clock{}}
	o := Options{Config: apitest.API(t).RESTConfig(), Objects: apitest.Client(t), Cache: watchedObjects(t), Namespace: apitest.Namespace(t),
		SessionKey: testKey, SessionLifetime: time.Hour, Masters: true, Version: "test", Now: w.clock.now, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	for _, c := range change {
		c(&o)
	}
	page, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.page, w.server = page, httptest.NewServer(page)
	t.Cleanup(func() {
		w.server.CloseClientConnections()
		w.server.Close()
	})
	return w
}

// person is a browser in which somebody has logged in, or nobody yet.
type person struct {
	*world
	cookies map[string]string
}

func (w *world) nobody() *person { return &person{w, map[string]string{}} }

// login logs a person in by a link.
func (w *world) login(p access.Person) *person {
	w.Helper()
	path, err := w.page.Link(p)
	if err != nil {
		w.Fatal(err)
	}
	b := w.nobody()
	if code, _ := b.post("/login/link", "code", codeOf(w.T, path)); code != http.StatusSeeOther {
		w.Fatalf("a link did not log in: %d", code)
	}
	return b
}

func codeOf(t *testing.T, path string) string {
	t.Helper()
	u, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("code")
}

// do sends a request with the browser's cookies, and returns the response without following it.
func (b *person) do(r *http.Request) (int, http.Header, string) {
	b.Helper()
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.Fatal(err)
	}
	for _, cookie := range response.Cookies() {
		b.cookies[cookie.Name] = cookie.Value
		if cookie.MaxAge < 0 || cookie.Value == "" {
			delete(b.cookies, cookie.Name)
		}
	}
	return response.StatusCode, response.Header, string(body)
}

func (b *person) request(method, path, body string) *http.Request {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.server.URL+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func (b *person) get(path string) (int, string) {
	b.Helper()
	code, _, body := b.do(b.request(http.MethodGet, path, ""))
	return code, body
}

// post sends a form of the site's own pages.
func (b *person) post(path string, pairs ...string) (int, string) {
	b.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	r := b.request(http.MethodPost, path, form.Encode())
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	code, header, body := b.do(r)
	return code, header.Get("Location") + body
}

// admin is who may do everything.
func admin() access.Person {
	return access.Person{Name: "root", Groups: []string{"system:masters", "system:authenticated"}}
}

// viewer makes somebody who may view one namespace.
func viewer(t *testing.T, name, namespace string) access.Person {
	t.Helper()
	binding := rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}}}
	if err := apitest.Client(t).Create(t.Context(), &binding); err != nil {
		t.Fatal(err)
	}
	return access.Person{Name: name, Groups: []string{"system:authenticated"}}
}

// stack makes a stack whose plan waits for approval.
func stack(t *testing.T, namespace, name string) *infrav1.Terraform {
	t.Helper()
	c := apitest.Client(t)
	s := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: time.Hour}, Inline: map[string]string{"main.tf": ""}}}
	if err := c.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	s.Status.Plan = infrav1.PlanStatus{Pending: "plan-main-1", Digest: "sha256:" + strings.Repeat("a", 64), Summary: "+1 ~0 -0", RunID: "r"}
	s.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionReady, Status: metav1.ConditionUnknown, Reason: infrav1.ReasonPlannedWithChanges, Message: "waits", LastTransitionTime: metav1.Now()}}
	if err := c.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// eventually waits until the watched objects have caught up.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// believedAtMost is how long a session is used without looking at it.
const believedAtMost = 10 * time.Second
