// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package watched_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/webtest"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// A server that may not watch a kind lists it as the person, also for those who may list it in some
// namespaces only.
func TestWithoutAWatchObjectsAreListedAsThePerson(t *testing.T) {
	config, admin := apitest.API(t).RESTConfig(), apitest.Client(t)
	ctx := t.Context()
	namespaces, eve := []string{apitest.Namespace(t), apitest.Namespace(t), apitest.Namespace(t)}, "eve-"+fmt.Sprint(time.Now().UnixNano())
	for i, namespace := range namespaces {
		k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "apps"}}
		k.Spec.Interval.Duration, k.Spec.SourceRef = time.Hour, kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "apps"}
		objects := []client.Object{k}
		if i < 2 {
			role := rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{kustomizev1.GroupVersion.Group}, Resources: []string{"kustomizations"}}
			objects = append(objects, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "list"}, Rules: []rbacv1.PolicyRule{role}},
				&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "list"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "list"},
					Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: eve}}})
		}
		for _, object := range objects {
			if err := admin.Create(ctx, object); err != nil {
				t.Fatal(err)
			}
		}
	}
	all, err := cache.New(config, cache.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	go all.Start(running) //nolint:errcheck // the test notices
	if !all.WaitForCacheSync(running) {
		t.Fatal("the watch does not begin")
	}
	// This server may watch nothing.
	weak := rest.CopyConfig(config)
	weak.Impersonate = rest.ImpersonationConfig{UserName: "nobody", Groups: []string{"system:authenticated"}}
	own, err := client.New(weak, client.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	objects := watched.New(all, own, time.Now)
	s := site.New(site.Options{Access: access.New(config, admin, all, time.Now), Hub: live.New(all), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Who: func(*http.Request) (access.Person, bool, error) { return access.Person{Name: eve}, true, nil }})
	s.AddViews(`{{define "list"}}{{range .}}[{{.}}]{{end}}{{end}}`)
	s.Page("/", func(r *site.Request) (*site.Page, error) {
		found, err := watched.List(r, objects, watched.Kustomizations)
		var lines []string
		for _, k := range found.Items {
			lines = append(lines, k.Namespace+"/"+k.Name)
		}
		return &site.Page{Title: "x", Parts: []site.Part{{ID: "list", View: "list", Data: append(lines, "missing: "+found.Missing)}}}, err
	})
	want := []string{"[" + namespaces[0] + "/apps]", "[" + namespaces[1] + "/apps]", "[missing: ]"}
	var body string
	// Bindings take a moment to count, and answers about rights are used again for ten seconds.
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(60 * time.Second); ; <-tick.C {
		if _, body = webtest.Get(t, s, "/"); strings.Contains(body, want[0]) && strings.Contains(body, want[1]) || time.Now().After(end) {
			break
		}
	}
	for _, text := range want {
		if !strings.Contains(body, text) {
			t.Errorf("lacks %s: %s", text, body)
		}
	}
	if strings.Contains(body, namespaces[2]) {
		t.Errorf("shows what eve may not list: %s", body)
	}
}
