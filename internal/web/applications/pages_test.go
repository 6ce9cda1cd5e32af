// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package applications_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/serving"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/applications"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

func TestMain(m *testing.M) { apitest.Main(m) }

const bucketSchema = `{"type":"object","required":["bucketName"],"properties":{
  "bucketName":{"type":"string","title":"Name of the bucket","description":"<script>alert(1)</script>","maxLength":20},
  "class":{"type":"string","enum":["standard","archive"],"default":"standard"},
  "versions":{"type":"integer","minimum":0},
  "rules":{"type":"array","items":{"type":"object","properties":{"days":{"type":"integer"}}}}}}`

// shop is a site whose kind Bucket is served by the embedded API. ada may do everything with buckets,
// eve may only look, and nobody else may do anything.
type shop struct {
	t         *testing.T
	admin     client.WithWatch
	site      http.Handler
	namespace string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	config := apitest.API(t).RESTConfig()
	s := &shop{t: t, admin: apitest.Client(t), namespace: apitest.Namespace(t)}
	s.serve()
	seen, err := cache.New(config, cache.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	pages := site.New(site.Options{Access: access.New(config, s.admin, seen, time.Now), Hub: live.New(seen), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Who: func(r *http.Request) (access.Person, bool, error) {
			return access.Person{Name: r.Header.Get("Test-Person")}, true, nil
		}})
	pieces.Add(pages)
	applications.Add(pages, watched.New(seen, s.admin, time.Now))
	s.site = pages
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	go seen.Start(ctx) //nolint:errcheck // the test notices
	if !seen.WaitForCacheSync(ctx) {
		t.Fatal("the watch does not begin")
	}
	s.allow("everything", []string{"*"}, "ada")
	s.allow("look", []string{"get", "list", "watch"}, "eve")
	return s
}

// serve makes a definition and its kind.
func (s *shop) serve() {
	s.t.Helper()
	s.offer(&appv1.ApplicationDefinition{ObjectMeta: metav1.ObjectMeta{Name: "bucket"}, Spec: appv1.ApplicationDefinitionSpec{
		Application: appv1.Application{Kind: "Bucket", Plural: "buckets", Singular: "bucket", OpenAPISchema: bucketSchema},
		Backend: &appv1.Backend{Type: appv1.BackendTerraform, Terraform: &appv1.TerraformBackend{Prefix: "bucket-", ApprovePlan: appv1.ApproveManual,
			Inline: map[string]string{"main.tf": "variable \"bucket_name\" {}\nvariable \"class\" {}\nvariable \"versions\" { default = 0 }\nvariable \"rules\" { default = [] }\n"}}},
		Dashboard: &appv1.Dashboard{Plural: "Buckets", Category: "Storage", Description: "A place for files <b>and</b> more"}}})
}

// offer makes a definition and its kind, as the controller does.
func (s *shop) offer(d *appv1.ApplicationDefinition) {
	s.t.Helper()
	parsed, list := definition.Parse(d)
	if err := list.Err(); err != nil {
		s.t.Fatal(err)
	}
	kind, err := serving.Kind(parsed)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, o := range []client.Object{d, kind} {
		if err := s.admin.Create(s.t.Context(), o); err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { s.remove(o) })
	}
	for {
		var served apiextensionsv1.CustomResourceDefinition
		if err := s.admin.Get(s.t.Context(), client.ObjectKeyFromObject(kind), &served); err != nil {
			s.t.Fatal(err)
		}
		for _, c := range served.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// remove deletes an object, and waits until it is gone: the next test may use its name.
func (s *shop) remove(o client.Object) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := s.admin.Delete(ctx, o)
	for err == nil {
		time.Sleep(20 * time.Millisecond)
		err = s.admin.Get(ctx, client.ObjectKeyFromObject(o), o)
	}
	if !apierrors.IsNotFound(err) {
		s.t.Errorf("delete %s: %v", o.GetName(), err)
	}
}

func (s *shop) allow(name string, verbs []string, person string) {
	s.t.Helper()
	rules := []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{appv1.InstanceVersion.Group}, Resources: []string{"*"}}}
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: person}}
	definitions := []rbacv1.PolicyRule{{Verbs: []string{"get", "list"}, APIGroups: []string{appv1.GroupVersion.Group}, Resources: []string{"applicationdefinitions"}}}
	for _, o := range []client.Object{
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Subjects: subject, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-" + name}, Rules: definitions},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-" + name}, Subjects: subject,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: s.namespace + "-" + name}},
	} {
		if err := s.admin.Create(s.t.Context(), o); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *shop) ask(person, method, address string, pairs ...string) (int, string) {
	s.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	r := httptest.NewRequestWithContext(s.t.Context(), method, address, strings.NewReader(form.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if strings.HasSuffix(address, "/create") || strings.HasSuffix(address, "/delete") {
		r.Header.Set("Accept", "application/json")
	}
	r.Header.Set("Test-Person", person)
	w := httptest.NewRecorder()
	s.site.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (s *shop) wants(code int, text string, wantCode int, parts ...string) {
	s.t.Helper()
	if code != wantCode {
		s.t.Errorf("status %d, want %d: %.2000s", code, wantCode, text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			s.t.Errorf("lacks %q: %.4000s", part, text)
		}
	}
}

func (s *shop) bucket(name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(appv1.InstanceVersion.WithKind("Bucket"))
	o.SetNamespace(s.namespace)
	o.SetName(name)
	return o
}

func (s *shop) get(name string) *unstructured.Unstructured {
	s.t.Helper()
	o := s.bucket(name)
	if err := s.admin.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		s.t.Fatal(err)
	}
	return o
}

func TestAnInstanceIsTriedCreatedChangedAndDeletedInForms(t *testing.T) {
	s := newShop(t)
	code, text := s.ask("ada", "GET", "/applications")
	s.wants(code, text, 200, "Storage", "Buckets", "A place for files &lt;b&gt;and")
	code, text = s.ask("ada", "GET", "/applications/buckets/new?namespace="+s.namespace)
	s.wants(code, text, 200, "Name of the bucket", "&lt;script&gt;", "nothing is made before somebody has approved the plan", "default: standard", "as YAML", `maxlength="46"`)
	if strings.Contains(text, "<script>alert") {
		t.Error("the author's text is markup")
	}

	// What cannot be read, what the API refuses, and what it accepts. Nothing is stored.
	code, text = s.ask("ada", "POST", "/applications/buckets/try", "namespace", s.namespace, "name", "files", "spec.bucketName", "files", "spec.versions", "many")
	s.wants(code, text, 200, "Some fields could not be read", "Write a whole number", `value="many"`)
	code, text = s.ask("ada", "POST", "/applications/buckets/try", "namespace", s.namespace, "name", "files", "spec.bucketName", strings.Repeat("x", 30), "spec.versions", "-1")
	s.wants(code, text, 200, "spec.bucketName", "spec.versions", "should be greater than or equal to 0")
	code, text = s.ask("ada", "POST", "/applications/buckets/try", "namespace", s.namespace, "name", "files", "spec.bucketName", "files", "spec.rules", "[{days: 3}]")
	s.wants(code, text, 200, "The server accepts it", "class: standard", "days: 3")
	code, text = s.ask("eve", "POST", "/applications/buckets/try", "namespace", s.namespace, "name", "files", "spec.bucketName", "files")
	s.wants(code, text, 200, "cannot create", "You need the right to create buckets.apps.cozystack.io")
	if err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(s.bucket("files")), s.bucket("files")); !isNotFound(err) {
		t.Fatalf("something was stored: %v", err)
	}

	code, text = s.ask("eve", "POST", "/applications/buckets/create", "namespace", s.namespace, "name", "files", "spec.bucketName", "files")
	s.wants(code, text, 403, "You may not do this")
	code, text = s.ask("ada", "POST", "/applications/buckets/create", "namespace", s.namespace, "name", "files", "spec.bucketName", "files")
	s.wants(code, text, 200, "Bucket "+s.namespace+"/files is being created", "/applications/buckets/"+s.namespace+"/files")
	code, text = s.ask("eve", "GET", "/applications/buckets")
	s.wants(code, text, 200, s.namespace+"/files")
	code, text = s.ask("eve", "GET", "/applications/buckets/"+s.namespace+"/files")
	s.wants(code, text, 200, "bucketName: files", "You need the right to delete")

	// A change is of the version that the person saw, and touches nothing but the spec.
	o := s.get("files")
	o.SetLabels(map[string]string{"team": "a"})
	if err := s.admin.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	seen := []string{"namespace", s.namespace, "name", "files", "uid", string(o.GetUID()), "generation", "1"}
	code, text = s.ask("ada", "POST", "/applications/buckets/create", append(seen, "spec.bucketName", "other")...)
	s.wants(code, text, 200, "is being changed")
	if o = s.get("files"); o.GetLabels()["team"] != "a" || o.GetGeneration() != 2 {
		t.Errorf("labels %v, generation %d", o.GetLabels(), o.GetGeneration())
	}
	code, text = s.ask("ada", "POST", "/applications/buckets/create", append(seen, "spec.bucketName", "third")...)
	s.wants(code, text, 409, "somebody has changed it")

	code, text = s.ask("ada", "POST", "/applications/buckets/"+s.namespace+"/files/delete", "uid", "another")
	s.wants(code, text, 409, "another object of the same name")
	code, text = s.ask("ada", "POST", "/applications/buckets/"+s.namespace+"/files/delete", "uid", string(o.GetUID()))
	s.wants(code, text, 200, "is being deleted")
	code, text = s.ask("ada", "GET", "/applications/buckets/"+s.namespace+"/files")
	s.wants(code, text, 404, "There is no Bucket")
	code, text = s.ask("ada", "GET", "/applications/nonsense")
	s.wants(code, text, 404, "There is no kind nonsense")
}

// An open page follows its instance, which no watch of the server's own follows.
func TestAnOpenPageFollowsItsInstance(t *testing.T) {
	s := newShop(t)
	o := s.bucket("live")
	o.Object["spec"] = map[string]any{"bucketName": "live"}
	if err := s.admin.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.site)
	t.Cleanup(server.Close)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/applications/buckets/"+s.namespace+"/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Test-Person", "eve")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	var heard strings.Builder
	hear := func(text string) {
		t.Helper()
		buffer := make([]byte, 64<<10)
		for !strings.Contains(heard.String(), text) {
			n, err := response.Body.Read(buffer)
			heard.Write(buffer[:n])
			if err != nil {
				t.Fatalf("%q never came: %v in %s", text, err, heard.String())
			}
		}
	}
	hear("not started")
	status, err := json.Marshal(map[string]any{"status": appv1.InstanceStatus{Phase: appv1.PhaseFailed}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.admin.Status().Patch(ctx, o, client.RawPatch("application/merge-patch+json", status)); err != nil {
		t.Fatal(err)
	}
	hear(appv1.PhaseFailed)
}

func isNotFound(err error) bool { return client.IgnoreNotFound(err) == nil && err != nil }
