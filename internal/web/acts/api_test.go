// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package acts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/fleet"
	"github.com/yuba-dev/yuba/internal/web/history"
	"github.com/yuba-dev/yuba/internal/web/inbox"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/operations"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/sources"
	"github.com/yuba-dev/yuba/internal/web/stack"
	"github.com/yuba-dev/yuba/internal/web/tenants"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// office is a site on a real API, and a namespace where ada and grace may change things, and eve may
// only read.
type office struct {
	t         *testing.T
	admin     client.WithWatch
	site      http.Handler
	namespace string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	config := apitest.API(t).RESTConfig()
	o := &office{t: t, admin: apitest.Client(t), namespace: apitest.Namespace(t)}
	cached, err := cache.New(config, cache.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	s := site.New(site.Options{Access: access.New(config, o.admin, cached, time.Now), Hub: live.New(cached), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Who: func(r *http.Request) (access.Person, bool, error) {
			p := access.Person{Name: r.Header.Get("Test-Person")}
			if strings.HasSuffix(p.Name, "root") {
				p.Groups = []string{"system:masters"}
			}
			return p, true, nil
		}})
	objects := watched.New(cached, o.admin, time.Now)
	pieces.Add(s)
	inbox.Add(s, cached, objects)
	sources.Add(s, objects)
	tenants.Add(s, objects)
	operations.Add(s, objects, history.New(nil, slog.New(slog.DiscardHandler)))
	if err := fleet.Add(s, cached); err != nil {
		t.Fatal(err)
	}
	stack.Add(s, cached)
	o.site = s
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	go cached.Start(ctx) //nolint:errcheck // the test notices
	if !cached.WaitForCacheSync(ctx) {
		t.Fatal("the watch does not begin")
	}
	all := []string{"kustomize.toolkit.fluxcd.io", "operator.kubernetes-tenants.org", "infra.contrib.fluxcd.io", ""}
	o.allow("change", []string{"get", "list", "patch", "create", "delete"}, all, "ada", "grace")
	o.allow("read", []string{"get", "list"}, all, "eve")
	return o
}

func (o *office) allow(name string, verbs, groups []string, people ...string) {
	o.t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: name}, Rules: []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: groups, Resources: []string{"*"}}}}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}}
	for _, person := range people {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: person})
	}
	o.create(role)
	o.create(binding)
}

func (o *office) create(object client.Object) {
	o.t.Helper()
	if err := o.admin.Create(o.t.Context(), object); err != nil {
		o.t.Fatal(err)
	}
}

// stack makes a stack with a plan that waits.
func (o *office) stack(name string) *infrav1.Terraform {
	o.t.Helper()
	t := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: name}, Spec: infrav1.TerraformSpec{Inline: map[string]string{"main.tf": "# nothing"}}}
	t.Spec.Interval.Duration = time.Hour
	o.create(t)
	o.plan(t, "plan-1", "sha256:one")
	return t
}

func (o *office) plan(t *infrav1.Terraform, id, digest string) {
	o.t.Helper()
	t.Status.Plan = infrav1.PlanStatus{Pending: id, Digest: digest, Summary: "+1 ~0 -0"}
	o.status(t)
}

func (o *office) status(object client.Object) {
	o.t.Helper()
	if err := o.admin.Status().Update(o.t.Context(), object); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) get(object client.Object) {
	o.t.Helper()
	if err := o.admin.Get(o.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		o.t.Fatal(err)
	}
}

type answer struct {
	code              int
	Says, Error, Next string
	cookies           []*http.Cookie
}

func (o *office) post(person, address string, pairs ...string) answer {
	o.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	r := httptest.NewRequestWithContext(o.t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Test-Person", person)
	w := httptest.NewRecorder()
	o.site.ServeHTTP(w, r)
	a := answer{code: w.Code, cookies: w.Result().Cookies()}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		o.t.Fatalf("%s: %v", w.Body, err)
	}
	return a
}

func (o *office) page(person, address string, cookies ...*http.Cookie) (int, string) {
	o.t.Helper()
	r := httptest.NewRequestWithContext(o.t.Context(), http.MethodGet, address, nil)
	r.Header.Set("Test-Person", person)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	o.site.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (o *office) wants(a answer, code int, parts ...string) {
	o.t.Helper()
	text := a.Says + a.Error
	for _, part := range parts {
		if !strings.Contains(text, part) {
			o.t.Errorf("lacks %q: %d %s", part, a.code, text)
		}
	}
	if a.code != code {
		o.t.Errorf("status %d, want %d: %s", a.code, code, text)
	}
}

func TestADecisionIsAboutThePlanThatThePersonSaw(t *testing.T) {
	o := newOffice(t)
	s := o.stack("vpc")
	row := o.namespace + "/vpc plan-1 sha256:one"
	o.wants(o.post("eve", "/inbox/do", "verb", "approve", "row", row), 409, "You may not do this", "cannot patch")
	o.wants(o.post("ada", "/inbox/do", "verb", "approve", "row", o.namespace+"/vpc plan-0 sha256:zero"), 409, "Nothing was approved", "You saw plan-0, and now plan-1 is pending")
	o.wants(o.post("ada", "/inbox/do", "verb", "approve", "row", o.namespace+"/vpc plan-1 sha256:other"), 409, "other bytes")
	o.wants(o.post("ada", "/inbox/do", "verb", "approve", "row", o.namespace+"/vpc"), 409, "does not name the plan")
	o.wants(o.post("ada", "/inbox/do", "verb", "approve", "row", o.namespace+"/gone plan-1 sha256:one"), 409, "does not exist any more")
	o.get(s)
	if s.Spec.ApprovePlan != "" || s.Annotations[infrav1.AnnotationDecision] != "" {
		t.Fatalf("something was approved: %q %q", s.Spec.ApprovePlan, s.Annotations)
	}
	o.wants(o.post("ada", "/inbox/do", "verb", "approve", "row", row, "comment", "as agreed\x1b[31m in the call"), 200, "Plan plan-1 of "+o.namespace+"/vpc is approved")
	o.get(s)
	d, ok := verbs.DecisionOf(s, "plan-1")
	if s.Spec.ApprovePlan != "plan-1" || !ok || d.By != "ada" || d.Verdict != verbs.Approved || !strings.HasPrefix(d.Comment, "as agreed") || strings.Contains(d.Comment, "\x1b") {
		t.Fatalf("%q %+v", s.Spec.ApprovePlan, d)
	}
	o.wants(o.post("grace", "/inbox/do", "verb", "approve", "row", row), 409, "Nothing was approved", "ada has approved it", "as agreed")
	o.wants(o.post("grace", "/stacks/"+o.namespace+"/vpc/reject", "plan", "plan-1", "digest", "sha256:one"), 409, "Nothing was rejected", "ada has approved it")
	o.plan(s, "", "")
	s.Status.Plan.LastApplied = "plan-1"
	o.status(s)
	o.wants(o.post("grace", "/stacks/"+o.namespace+"/vpc/approve", "plan", "plan-1", "digest", "sha256:one"), 409, "applied already", "ada has approved it")
}

func TestOfTwoWhoDecideAtOnceOneIsToldWhoWasFirst(t *testing.T) {
	o := newOffice(t)
	for i := range 5 {
		name := fmt.Sprintf("vpc-%d", i)
		s := o.stack(name)
		var both sync.WaitGroup
		answers := make([]answer, 2)
		for j, person := range []string{"ada", "grace"} {
			both.Go(func() {
				answers[j] = o.post(person, "/stacks/"+o.namespace+"/"+name+"/"+[]string{"approve", "reject"}[j], "plan", "plan-1", "digest", "sha256:one")
			})
		}
		both.Wait()
		o.get(s)
		d, ok := verbs.DecisionOf(s, "plan-1")
		if !ok || (s.Spec.ApprovePlan == "plan-1") != (d.By == "ada") || (s.Annotations[infrav1.AnnotationRejected] == "plan-1") != (d.By == "grace") {
			t.Fatalf("decided: %+v, and the stack is %q %v", d, s.Spec.ApprovePlan, s.Annotations)
		}
		first, second := answers[0], answers[1]
		if d.By == "grace" {
			first, second = second, first
		}
		o.wants(first, 200, "Plan plan-1")
		o.wants(second, 409, "Nothing was", d.By+" has "+d.Verdict)
	}
}

func TestManyAreDecidedAndEachResultIsTold(t *testing.T) {
	o := newOffice(t)
	a, b := o.stack("a"), o.stack("b")
	o.plan(b, "plan-2", "sha256:two")
	done := o.post("ada", "/inbox/do", "verb", "reject", "comment", "not <b>now</b>",
		"row", o.namespace+"/a plan-1 sha256:one", "row", o.namespace+"/b plan-1 sha256:one", "row", o.namespace+"/c plan-1 sha256:one")
	o.wants(done, 200, "Reject: 1 done, 2 not.")
	code, body := o.page("ada", done.Next)
	for _, part := range []string{"Plan plan-1 of " + o.namespace + "/a is rejected", "now plan-2 is pending", "does not exist any more", "not &lt;b&gt;now&lt;/b&gt;"} {
		if code != 200 || !strings.Contains(body, part) {
			t.Errorf("lacks %q: %d %s", part, code, body)
		}
	}
	if code, _ := o.page("grace", done.Next); code != 404 {
		t.Errorf("others read the result: %d", code)
	}
	o.get(a)
	if a.Annotations[infrav1.AnnotationRejected] != "plan-1" {
		t.Error(a.Annotations)
	}
	o.wants(o.post("ada", "/inbox/do", "verb", "suspend", "row", o.namespace+"/a"), 200, "is suspended")
	o.get(a)
	if !a.Spec.Suspend {
		t.Error("it is not suspended")
	}
	o.wants(o.post("ada", "/inbox/do", "verb", "replan", "row", o.namespace+"/a"), 409, "Resume it first")
	o.wants(o.post("ada", "/inbox/do", "verb", "resume", "row", o.namespace+"/a"), 200, "is resumed")
	o.wants(o.post("ada", "/inbox/do", "verb", "replan", "row", o.namespace+"/a"), 200, "A fresh plan of "+o.namespace+"/a is requested")
	o.get(a)
	if a.Annotations[infrav1.AnnotationReconcile] == "" || a.Annotations[infrav1.AnnotationRejected] != "" {
		t.Error(a.Annotations)
	}
	for _, form := range [][]string{{"verb", "approve"}, {"verb", "delete", "row", "a/b"}, {"verb", "approve", "row", "like:x"}, {"verb", "approve", "row", "nonsense"}} {
		o.wants(o.post("ada", "/inbox/do", form...), 400)
	}
}

func TestHeldDeletionsAreConfirmedAsThePersonSawThem(t *testing.T) {
	o := newOffice(t)
	k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: "apps"}}
	k.Spec.Interval.Duration, k.Spec.SourceRef = time.Hour, kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "apps"}
	o.create(k)
	k.Status.LastAttemptedRevision = "main@sha1:two"
	k.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "PruneHeld", Message: "pruning", LastTransitionTime: metav1.Now()}}
	o.status(k)
	at := "/sources/kustomization/" + o.namespace + "/apps/confirm"
	o.offers("ada", at, "main@sha1:two")
	o.wants(o.post("ada", at, "revision", "main@sha1:one"), 409, "now that of revision main@sha1:two")
	o.wants(o.post("eve", at, "revision", "main@sha1:two"), 403, "You may not")
	o.wants(o.post("ada", at, "revision", "main@sha1:two"), 200, "is confirmed")
	o.wants(o.post("grace", at, "revision", "main@sha1:two"), 409, "somebody confirmed it already")

	g := &tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: "customers"}}
	g.Spec.Source.Type, g.Spec.Source.SyncInterval = "mysql", "1m"
	g.Spec.Source.MySQL = &tenantv1.MySQLSource{Host: "db", Port: 3306, Username: "u", Database: "d", Table: "t"}
	g.Spec.ValueMappings = tenantv1.ValueMappings{UID: "id", HostOrURL: "host", Activate: "active"}
	o.create(g)
	g.Status.Held = &tenantv1.HeldDeletion{ID: "abc", Count: 3}
	o.status(g)
	at = "/tenants/registries/" + o.namespace + "/customers/confirm"
	o.offers("ada", at, "abc")
	o.wants(o.post("ada", at, "id", "old"), 409, "another one now, of 3 tenants")
	o.wants(o.post("ada", at), 409, "another one now")
	o.wants(o.post("eve", at, "id", "abc"), 403, "You may not")
	o.wants(o.post("ada", at, "id", "abc"), 200, "3 tenants")
	o.wants(o.post("grace", at, "id", "abc"), 409, "confirmed it already")

	c := &yubav1.CircuitBreaker{ObjectMeta: metav1.ObjectMeta{Name: "aws-" + o.namespace}}
	o.create(c)
	c.Status.State = yubav1.StateOpen
	o.status(c)
	at = "/operations/circuits/" + c.Name
	seen := string(c.Spec.Mode)
	o.wants(o.post("ada", at+"/resume", "mode", seen), 403, "You may not")
	o.wants(o.post("root", at+"/resume", "mode", "Open"), 409, "has changed since you saw it")
	o.wants(o.post("root", at+"/suspend", "mode", seen), 200, "is kept open")
	// Somebody who still sees it open by itself would make it automatic, where they mean to close it.
	o.wants(o.post("grace-root", at+"/resume", "mode", seen), 409, "has changed since you saw it")
	o.wants(o.post("root", at+"/resume", "mode", "Open"), 200, "is automatic again")
	o.get(c)
	c.Status.State = yubav1.StateClosed
	o.status(c)
	o.wants(o.post("root", at+"/resume", "mode", string(c.Spec.Mode)), 409, "has changed since you saw it")
}

// offers waits until the inbox has a form that is posted to an address with a value: the watch takes a
// moment.
func (o *office) offers(person, address, value string) {
	o.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); ; <-tick.C {
		_, body := o.page(person, "/")
		_, form, found := strings.Cut(body, `action="`+address+`"`)
		if form, _, _ = strings.Cut(form, "</form>"); found && strings.Contains(form, `value="`+value+`"`) {
			return
		}
		if time.Now().After(end) {
			o.t.Fatalf("the inbox has no form for %s: %s", address, body)
		}
	}
}

func TestWhatThePersonHasSeenIsRememberedForThem(t *testing.T) {
	o := newOffice(t)
	s := o.stack("broken")
	s.Status.Plan = infrav1.PlanStatus{}
	s.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: infrav1.ReasonPlanFailed, Message: "Error: no", LastTransitionTime: metav1.Now()}}
	o.status(s)
	shows := func(person string, cookies ...*http.Cookie) bool {
		_, body := o.page(person, "/", cookies...)
		return strings.Contains(body, `id="failed-`+o.namespace+`.broken"`)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !shows("ada"); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("the failure is not in the inbox")
		}
	}
	a := o.post("ada", "/inbox/seen", "until", fmt.Sprint(time.Now().Unix()+1))
	o.wants(a, 200)
	if len(a.cookies) != 1 || !a.cookies[0].Secure || !a.cookies[0].HttpOnly {
		t.Fatal(a.cookies)
	}
	later := func() *http.Cookie { // the second in which it failed counts as not seen
		c := *a.cookies[0]
		return &c
	}
	if now := time.Now().Unix(); !strings.HasSuffix(later().Value, fmt.Sprint(".", now)) && !strings.HasSuffix(later().Value, fmt.Sprint(".", now-1)) {
		t.Errorf("until %s is later than now", later().Value)
	}
	if !shows("grace", a.cookies...) {
		t.Error("another person has not seen it")
	}
}

func TestViewsAreSharedAsConfigMaps(t *testing.T) {
	o := newOffice(t)
	o.wants(o.post("eve", "/stacks/views/save", "title", "Mine", "view", "q=x", "namespace", o.namespace), 403)
	own := o.post("eve", "/stacks/views/save", "title", "My <b>view</b>", "view", "q=env:prod&group=ns&evil=1")
	o.wants(own, 200, "saved in this browser")
	_, body := o.page("eve", "/stacks?q=env:prod&group=ns", own.cookies...)
	if !strings.Contains(body, "My &lt;b&gt;view") || !strings.Contains(body, "Delete this view") || strings.Contains(body, "evil") {
		t.Error(body)
	}
	o.wants(o.post("ada", "/stacks/views/save", "title", "Shared", "view", "q=status:failed", "namespace", o.namespace), 200, "for everybody")
	_, body = o.page("ada", "/stacks")
	if !strings.Contains(body, ">Shared ") {
		t.Error(body)
	}
	var list corev1.ConfigMapList
	if err := o.admin.List(t.Context(), &list, client.InNamespace(o.namespace), client.MatchingLabels{"web.yuba.dev/view": "stacks"}); err != nil || len(list.Items) != 1 {
		t.Fatalf("%d ConfigMaps: %v", len(list.Items), err)
	}
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: "precious"}}
	o.create(other)
	o.wants(o.post("ada", "/stacks/views/delete", "title", "x", "namespace", o.namespace, "name", "precious"), 400, "is not a view")
	o.wants(o.post("ada", "/stacks/views/delete", "title", "Shared", "namespace", o.namespace, "name", list.Items[0].Name), 200, "deleted")
}
