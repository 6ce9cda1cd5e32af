// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/home"
	"github.com/yuba-dev/yuba/internal/policy/ledger"
	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// mounted is the content that the API serves.
var mounted atomic.Pointer[http.ServeMux]

func TestMain(m *testing.M) {
	apitest.Main(m, func(o *home.Options) {
		o.Mount = func(*rest.Config) (map[string]http.Handler, error) {
			return map[string]http.Handler{content.PathPrefix + "/": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mounted.Load().ServeHTTP(w, r)
			})}, nil
		}
	})
}

// shared are the stores and the page of this test binary. They last as long as the API does.
var shared struct {
	once   sync.Once
	err    error
	states *state.Store
	runs   *executor.Executor
	page   *httptest.Server
}

// whoHeader names the person of a request of a test.
const whoHeader = "X-Test-Person"

func share(t *testing.T) error {
	dir, err := os.MkdirTemp(filepath.Dir(apitest.API(t).Kubeconfig()), "stack-")
	if err != nil {
		return err
	}
	key, err := blob.LoadOrCreateKey(filepath.Join(dir, "blob.agekey"))
	if err != nil {
		return err
	}
	blobs, err := blob.Open(context.WithoutCancel(t.Context()), "file://"+dir+"/blobs", key)
	if err != nil {
		return err
	}
	objects, quiet := apitest.Client(t), slog.New(slog.DiscardHandler)
	shared.states = state.New(objects, blobs)
	if shared.runs, err = executor.New(executor.Options{Blobs: blobs, States: shared.states, LiveDir: dir + "/live", Log: quiet}); err != nil {
		return err
	}
	h := &content.Handler{Client: objects, Reader: objects, Runs: shared.runs, States: shared.states, Artifacts: blobs, Log: quiet, Version: "test"}
	h.AuditLog = &ledger.Ledger{Store: blobs}
	h.Why = func(_ context.Context, name types.NamespacedName) (run.Why, error) {
		return run.Why{Namespace: name.Namespace, Name: name.Name, Decision: run.Decided{Verb: "await-approval", Reason: "Waits", Message: "<b>because</b>"}}, nil
	}
	mounted.Store(h.ServeMux())
	config := apitest.API(t).RESTConfig()
	watched, err := cache.New(config, cache.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		return err
	}
	go watched.Start(context.Background()) //nolint:errcheck // it ends with the process
	s := site.New(site.Options{Access: access.New(config, objects, watched, time.Now), Hub: live.New(watched), Edition: "test", Now: time.Now, Log: quiet,
		Who: func(r *http.Request) (access.Person, bool, error) {
			name := r.Header.Get(whoHeader)
			if name == "root" {
				return access.Person{Name: name, Groups: []string{"system:masters"}}, true, nil
			}
			return access.Person{Name: name, Groups: []string{"system:authenticated"}}, name != "", nil
		}})
	Add(s, watched)
	shared.page = httptest.NewServer(s)
	return nil
}

// world is a stack in a namespace of its own, and the page.
type world struct {
	*testing.T
	stack *infrav1.Terraform
}

func newWorld(t *testing.T, changes ...func(*infrav1.Terraform)) *world {
	t.Helper()
	shared.once.Do(func() { shared.err = share(t) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	w := &world{t, &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace(t), Name: "vpc"},
		Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: time.Hour}, Inline: map[string]string{"main.tf": ""}}}}
	for _, change := range changes {
		change(w.stack)
	}
	if err := apitest.Client(t).Create(t.Context(), w.stack); err != nil {
		t.Fatal(err)
	}
	return w
}

// status changes the status of the stack.
func (w *world) status(change func(*infrav1.TerraformStatus)) {
	w.Helper()
	c := apitest.Client(w.T)
	if err := c.Get(w.Context(), types.NamespacedName{Namespace: w.stack.Namespace, Name: "vpc"}, w.stack); err != nil {
		w.Fatal(err)
	}
	change(&w.stack.Status)
	if err := c.Status().Update(w.Context(), w.stack); err != nil {
		w.Fatal(err)
	}
}

// now reads the stack.
func (w *world) now() *infrav1.Terraform {
	w.Helper()
	var t infrav1.Terraform
	if err := apitest.Client(w.T).Get(w.Context(), types.NamespacedName{Namespace: w.stack.Namespace, Name: "vpc"}, &t); err != nil {
		w.Fatal(err)
	}
	return &t
}

// viewer makes somebody who may view the namespace.
func (w *world) viewer() string {
	w.Helper()
	name := "viewer-of-" + w.stack.Namespace
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.stack.Namespace, Name: "view"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}}}
	if err := apitest.Client(w.T).Create(w.Context(), binding); err != nil {
		w.Fatal(err)
	}
	return name
}

// path is an address below the stack's.
func (w *world) path(more string) string { return "/stacks/" + w.stack.Namespace + "/vpc" + more }

func (w *world) send(who string, r *http.Request) (int, string) {
	w.Helper()
	r.Header.Set(whoHeader, who)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func (w *world) request(method, path, body string) *http.Request {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, shared.page.URL+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// get returns a page below the stack's.
func (w *world) get(who, path string) (int, string) {
	w.Helper()
	return w.send(who, w.request(http.MethodGet, w.path(path), ""))
}

// sees fails unless a page has all of these texts.
func (w *world) sees(who, path string, texts ...string) string {
	w.Helper()
	code, body := w.get(who, path)
	if code != http.StatusOK {
		w.Fatalf("%s: %d", path, code)
	}
	for _, text := range texts {
		if !strings.Contains(body, text) {
			w.Errorf("%s lacks %q", path, text)
		}
	}
	return body
}

// does sends a form, and returns what the site says.
func (w *world) does(who, verb string, pairs ...string) (int, string) {
	w.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	r := w.request(http.MethodPost, w.path("/"+verb), form.Encode())
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	code, body := w.send(who, r)
	var said struct{ Says, Error string }
	if err := json.Unmarshal([]byte(body), &said); err != nil {
		w.Fatalf("%s: %d %s", verb, code, body)
	}
	return code, said.Says + said.Error
}

// begin puts a run in hand.
func (w *world) begin(id string, changes ...func(*run.Record)) {
	w.Helper()
	rec := run.Record{Token: "token", Created: time.Now(), Announced: true, Trigger: "<i>reason</i>",
		Spec: run.Spec{ID: id, Stack: run.StackOf(w.stack), Operation: run.OperationPlan, Describe: true, Limits: run.DefaultLimits()}}
	for _, change := range changes {
		change(&rec)
	}
	if err := shared.runs.Prepare(w.Context(), rec); err != nil {
		w.Fatal(err)
	}
	if err := shared.runs.Start(w.Context(), rec); err != nil {
		w.Fatal(err)
	}
}

// runner sends what a runner would about a run.
func (w *world) runner(id, method, part string, body []byte, offset int) {
	w.Helper()
	r := httptest.NewRequestWithContext(w.Context(), method, run.PathPrefix+"/runs/"+id+part, bytes.NewReader(body))
	r.Header.Set(run.HeaderProtocol, fmt.Sprint(run.ProtocolVersion))
	r.Header.Set("Authorization", "Bearer token")
	r.Header.Set(run.HeaderOffset, fmt.Sprint(offset))
	answer := httptest.NewRecorder()
	shared.runs.Handler().ServeHTTP(answer, r)
	if answer.Code >= 300 {
		w.Fatalf("%s %s: %d %s", method, part, answer.Code, answer.Body)
	}
}

func (w *world) end(id string, result run.Result) {
	w.Helper()
	data, err := json.Marshal(result)
	if err != nil {
		w.Fatal(err)
	}
	w.runner(id, http.MethodPost, "/result", data, 0)
}
