// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/oidctest"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/login/provider"
)

// withProvider is a page with an identity provider.
func withProvider(t *testing.T, change ...func(*Options)) (*world, *oidctest.Provider) {
	t.Helper()
	at := oidctest.New(t)
	secret, authority := at.Files(t)
	p, err := provider.New(provider.Options{Issuer: at.URL, ClientID: oidctest.ClientID, ClientSecretFile: secret, CAFile: authority,
		Claims: provider.Claims{Username: "email", Groups: "groups", GroupsPrefix: "oidc:"}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	change = append([]func(*Options){func(o *Options) { o.Provider = p }}, change...)
	return newWorld(t, change...), at
}

// visits follows the browser to the provider, and returns the address that leads back.
func (b *person) visits(at *oidctest.Provider, path string) string {
	b.Helper()
	code, header, body := b.do(b.request(http.MethodGet, path, ""))
	if code != http.StatusSeeOther || !strings.HasPrefix(header.Get("Location"), at.URL+"/authorize?") {
		b.Fatalf("%s: %d to %s: %s", path, code, header.Get("Location"), body)
	}
	browser := at.Client()
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, header.Get("Location"), http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	response, err := browser.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	back, err := response.Location()
	if err != nil {
		b.Fatalf("the provider answers %s: %v", response.Status, err)
	}
	return back.RequestURI()
}

func TestAProviderLogsIn(t *testing.T) {
	w, at := withProvider(t)
	mine := apitest.Namespace(t)
	viewer(t, "ada@example.com", mine)
	stack(t, mine, "mine")
	b := w.nobody()
	if _, body := b.get("/login?to=/stacks"); !strings.Contains(body, "Log in with "+strings.TrimPrefix(at.URL, "https://")) || !strings.Contains(body, "/login/oidc?to=%2Fstacks") {
		t.Fatalf("the login offers no provider: %s", body)
	}
	if code, to := b.get(b.visits(at, "/login/oidc?to=%2Fstacks")); code != http.StatusSeeOther || strings.Contains(to, "<main") {
		t.Fatalf("back from the provider: %d %s", code, to)
	}
	for name := range b.cookies {
		if strings.HasSuffix(name, "-oidc") {
			t.Errorf("the login's cookie %s stays", name)
		}
	}
	eventually(t, "ada sees her stack", func() bool {
		_, body := b.get("/stacks")
		return strings.Contains(body, mine+"/mine")
	})
	if _, body := b.get("/"); !strings.Contains(body, "Logged in as <b>ada@example.com</b>") || !strings.Contains(body, "oidc:platform") || !strings.Contains(body, "Ada Lovelace") {
		t.Errorf("the page does not say who is logged in: %s", body)
	}
	if code, to := b.post("/logout"); code != http.StatusSeeOther || to != "/login" {
		t.Errorf("logout: %d %s", code, to)
	}
	if code, _ := b.get("/"); code != http.StatusSeeOther {
		t.Errorf("after the logout: %d", code)
	}
}

// A session with a provider ends with the working day, however long others last.
func TestASessionWithAProviderEnds(t *testing.T) {
	w, at := withProvider(t, func(o *Options) { o.SessionLifetime = 7 * 24 * time.Hour })
	b := w.nobody()
	b.get(b.visits(at, "/login/oidc"))
	w.clock.pass(11 * time.Hour)
	if code, _ := b.get("/"); code != http.StatusOK {
		t.Errorf("after 11 h: %d", code)
	}
	w.clock.pass(2 * time.Hour)
	if code, _ := b.get("/"); code != http.StatusSeeOther {
		t.Errorf("after 13 h: %d", code)
	}
}

func TestAProviderThatRefusesIsExplained(t *testing.T) {
	w, at := withProvider(t)
	for want, faults := range map[string]oidctest.Faults{
		"or you cancelled":  {Refuse: "access_denied", Description: "<script>alert(1)</script>"},
		"begins with":       {Claims: map[string]any{"email": "system:admin"}},
		"is for another lo": {Claims: map[string]any{"nonce": "x"}},
	} {
		at.Behave(faults)
		b := w.nobody()
		code, body := b.get(b.visits(at, "/login/oidc"))
		if code != http.StatusUnauthorized || !strings.Contains(body, want) || strings.Contains(body, "<script>alert") {
			t.Errorf("%d, want %q: %s", code, want, body)
		}
		if code, _ := b.get("/"); code != http.StatusSeeOther {
			t.Errorf("%s: somebody is logged in: %d", want, code)
		}
	}
	at.Behave(oidctest.Faults{Down: true})
	down, _ := withProvider(t, func(o *Options) {
		p, err := provider.New(provider.Options{Issuer: at.URL, ClientID: "x", Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		o.Provider = p
	})
	if code, body := down.nobody().get("/login/oidc"); code != http.StatusBadGateway || !strings.Contains(body, `role="alert"`) {
		t.Errorf("a provider that is away: %d %s", code, body)
	}
}

// Another browser cannot finish a login, and an address that is not the page's begins it there.
func TestALoginStaysInItsBrowser(t *testing.T) {
	w, at := withProvider(t)
	back := w.nobody().visits(at, "/login/oidc")
	if code, body := w.nobody().get(back); code != http.StatusUnauthorized || !strings.Contains(body, "Begin again") {
		t.Errorf("another browser: %d %s", code, body)
	}
	public := &url.URL{Scheme: "https", Host: "yuba.example.com"}
	w, _ = withProvider(t, func(o *Options) { o.URL = public })
	code, header, _ := w.nobody().do(w.nobody().request(http.MethodGet, "/login/oidc?to=/stacks", ""))
	if to := header.Get("Location"); code != http.StatusSeeOther || to != "https://yuba.example.com/login/oidc?to=%2Fstacks" {
		t.Errorf("from another address: %d to %s", code, to)
	}
}

// In a cluster the page acts as nobody whom no role limits.
func TestMastersStayOutOfClusters(t *testing.T) {
	w := newWorld(t)
	b := w.login(admin())
	strict := newWorld(t, func(o *Options) { o.Namespace, o.Masters = sessionsOf(w), false })
	if _, err := strict.page.Link(admin()); err == nil || !strings.Contains(err.Error(), "--web-allow-masters") {
		t.Errorf("a link for a master: %v", err)
	}
	b.world = strict
	if code, _ := b.get("/"); code != http.StatusSeeOther {
		t.Errorf("a master's session of another server: %d", code)
	}
	strict.login(access.Person{Name: "ada", Groups: []string{"system:authenticated"}})
}
