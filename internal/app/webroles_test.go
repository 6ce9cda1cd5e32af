// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
)

// With the permissions of the chart, the page of a controller shows people what they may see, logs
// them in and out, and lets in nobody whom no role limits.
func TestThePageOfAControllerActsAsPeople(t *testing.T) {
	namespace, c := apitest.Namespace(t), apitest.Client(t)
	account := serviceAccount(t, namespace)
	grantRoles(t, "../../test/chart/testdata/web/manifests.yaml", namespace)
	address, err := proctest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	running(t, func(o *ControllerOptions) {
		o.Config, o.HTTPAddress = account, address
		o.Web = WebOptions{Serve: true, SessionLifetime: time.Hour}
	})
	other := apitest.Namespace(t)
	for _, o := range []string{namespace, other} {
		stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: o, Name: "vpc"}, Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: time.Hour}, Suspend: true}}
		if err := c.Create(t.Context(), stack); err != nil {
			t.Fatal(err)
		}
	}
	ada := &rest.ImpersonationConfig{UserName: "ada-" + namespace, UID: "7", Groups: []string{"system:authenticated"}, Extra: map[string][]string{"id.example.com/team": {"a"}}}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ada"}, Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: ada.UserName}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}}
	if err := c.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	// Who may not read the address of content cannot ask for a link; with the chart, the API server passes it on.
	system := binding.DeepCopy()
	system.ObjectMeta = metav1.ObjectMeta{Namespace: content.ConfigMapNamespace, Name: ada.UserName}
	if err := c.Create(t.Context(), system); err != nil {
		t.Fatal(err)
	}
	if _, err := contentOf(t, apitest.API(t).RESTConfig()).WebLink(t.Context()); err == nil || !strings.Contains(err.Error(), "--web-allow-masters") {
		t.Errorf("a link for an administrator whom no role limits: %v", err)
	}
	config := rest.CopyConfig(apitest.API(t).RESTConfig())
	config.Impersonate = *ada
	link, err := contentOf(t, config).WebLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The page asks for content as the person, too, and gets what they may read.
	asAda := rest.CopyConfig(account)
	asAda.Impersonate = *ada
	if _, err := contentOf(t, asAda).Runs(t.Context(), namespace, "vpc", 0); err != nil {
		t.Errorf("ada's own stack: %v", err)
	}
	if _, err := contentOf(t, asAda).Runs(t.Context(), other, "vpc", 0); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), ada.UserName) {
		t.Errorf("the stack of others as ada: %v", err)
	}
	b := newBrowser(t, "http://"+address)
	u, err := url.Parse(link.URL)
	if err != nil {
		t.Fatal(err)
	}
	b.post(t, "/login/link", url.Values{"code": {u.Query().Get("code")}})
	eventually(t, func() error {
		if body := b.get(t, "/stacks"); !strings.Contains(body, namespace+"/vpc") || strings.Count(body, "data-row") != 1 {
			return fmt.Errorf("ada sees %s", body)
		}
		return nil
	})
	if body := b.get(t, "/stacks/"+namespace+"/vpc"); strings.Contains(body, "cannot impersonate") {
		t.Errorf("the page cannot act as ada: %s", body)
	}
	b.post(t, "/logout", url.Values{"everywhere": {"yes"}})
	if body := b.get(t, "/stacks"); !strings.Contains(body, "Log in to Yuba") {
		t.Errorf("after a logout everywhere: %s", body)
	}
	var left corev1.SecretList
	if err := c.List(t.Context(), &left); err != nil {
		t.Fatal(err)
	}
	for i := range left.Items {
		if left.Items[i].Type == "yuba.dev/web-session" {
			t.Errorf("session %s is left", left.Items[i].Name)
		}
	}
}

// A controller serves webhooks without serving the page, which needs rights of its own.
func TestAControllerHasNoPageUnlessAsked(t *testing.T) {
	address, err := proctest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	running(t, func(o *ControllerOptions) { o.HTTPAddress = address })
	if body := newBrowser(t, "http://"+address).get(t, "/"); !strings.Contains(body, "web.enabled") {
		t.Errorf("the page: %s", body)
	}
	if _, err := contentOf(t, apitest.API(t).RESTConfig()).WebLink(t.Context()); err == nil || !strings.Contains(err.Error(), "--web") {
		t.Errorf("a link to no page: %v", err)
	}
}

// browser is as much of one as reading needs.
type browser struct {
	http.Client
	base string
}

func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{http.Client{Jar: loopback{jar}}, base}
}

// loopback is a jar that treats this machine as browsers do: what it serves is as secure as with TLS.
type loopback struct{ http.CookieJar }

func (l loopback) Cookies(u *url.URL) []*http.Cookie { return l.CookieJar.Cookies(secured(u)) }

func (l loopback) SetCookies(u *url.URL, cookies []*http.Cookie) {
	l.CookieJar.SetCookies(secured(u), cookies)
}

func secured(u *url.URL) *url.URL {
	secure := *u
	secure.Scheme = "https"
	return &secure
}

func (b *browser) get(t *testing.T, path string) string {
	t.Helper()
	return b.send(t, http.MethodGet, path, nil)
}

func (b *browser) post(t *testing.T, path string, form url.Values) string {
	t.Helper()
	return b.send(t, http.MethodPost, path, form)
}

func (b *browser) send(t *testing.T, method, path string, form url.Values) string {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	response, err := b.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
