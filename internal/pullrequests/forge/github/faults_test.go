// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package github_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/github"
	"github.com/yuba-dev/yuba/internal/testkit/forgefake"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
)

// faulty is a connection to a GitHub that answers with a function, at a time.
func faulty(t *testing.T, now *time.Time, fault http.HandlerFunc) (forge.Forge, *forgefake.World) {
	w := forgefake.GitHub(t)
	c := w.Config(t, forgetest.Full)
	c.Timeout = 5 * time.Second
	c.Now = func() time.Time { return *now }
	w.Fault(fault)
	return world{w}.Open(t, c), w
}

func TestErrorsOfTheForge(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const secret = "token-full-4f1c"
	for name, test := range map[string]struct {
		status int
		header http.Header
		body   string
		want   error
		says   string
	}{
		"nothing remains of the limit": {403, http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {fmt.Sprint(now.Add(10 * time.Minute).Unix())}},
			`{"message":"API rate limit exceeded"}`, &forge.LimitedError{}, "until 2026-03-01T12:10:00Z"},
		"a secondary limit says when": {403, http.Header{"Retry-After": {"90"}}, `{"message":"You have exceeded a secondary rate limit"}`, &forge.LimitedError{}, "until 2026-03-01T12:01:30Z"},
		"a limit without a time":      {429, nil, ``, &forge.LimitedError{}, "until 2026-03-01T12:01:00Z"},
		"a limit that ends never":     {429, http.Header{"Retry-After": {"999999999"}}, ``, &forge.LimitedError{}, "until 2026-03-01T14:00:00Z"},
		"a limit of a busy server":    {503, http.Header{"Retry-After": {"Sun, 01 Mar 2026 12:05:00 GMT"}}, ``, &forge.LimitedError{}, "until 2026-03-01T12:05:00Z"},
		"maintenance":                 {503, nil, `<html>` + secret, &forge.DownError{}, "HTTP status 503 Service Unavailable"},
		"a broken server":             {502, nil, ``, &forge.DownError{}, "HTTP status 502 Bad Gateway"},
		"an expired token":            {401, nil, `{"message":"Token has expired"}`, &forge.TokenError{}, "the token has expired"},
		"a fine-grained token without a permission": {403, http.Header{"X-Accepted-Github-Permissions": {"pull_requests=write; issues=write"}},
			`{"message":"Resource not accessible by personal access token"}`, &forge.ScopeError{}, "scope pull_requests=write or issues=write"},
		"the account lacks the right, not the token": {403, http.Header{"X-Accepted-Oauth-Scopes": {"repo"}, "X-Oauth-Scopes": {"repo"}},
			`{"message":"Must have admin rights"}`, &forge.ScopeError{}, "may not do this"},
		"a refusal quotes neither credentials nor controls": {422, nil, `{"message":"` + secret + ` is\u202e bad\u0007\n` + strings.Repeat("x", 500) + `"}`,
			&forge.RefusedError{}, "(sensitive) is bad xxx"},
		"a page that is not JSON": {200, nil, `<html>Sign in</html>`, &forge.DownError{}, "check its kind and address"},
		"JSON of something else":  {200, nil, `[1]`, &forge.DownError{}, "check its kind and address"},
		"half a response":         {200, http.Header{"Content-Length": {"100"}}, `{"id": 7`, &forge.DownError{}, "closed without a response"},
		"a redirect to another host": {301, http.Header{"Location": {"https://evil.example.com/repos/acme/infra"}}, ``,
			&forge.RefusedError{}, "leads to another host"},
		"redirects in a circle": {302, http.Header{"Location": {"/again"}}, ``, &forge.DownError{}, "redirects too often"},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := faulty(t, &now, func(out http.ResponseWriter, _ *http.Request) {
				for name, values := range test.header {
					out.Header()[name] = values
				}
				out.WriteHeader(test.status)
				out.Write([]byte(test.body)) //nolint:errcheck // the client notices
			})
			_, err := f.Repository(context.Background())
			if err == nil || fmt.Sprintf("%T", err) != fmt.Sprintf("%T", test.want) || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("the error is %T %v, want a %T with %q", err, err, test.want, test.says)
			}
			if !strings.HasPrefix(err.Error(), "read the description of acme/infra at 127.0.0.1:") || strings.Contains(err.Error(), secret) || len(err.Error()) > 600 ||
				strings.ContainsAny(err.Error(), "\n\a\u202e") {
				t.Errorf("the error is %q", err)
			}
		})
	}
}

func TestALimitIsRespectedWithoutAsking(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f, w := faulty(t, &now, func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Retry-After", "60")
		out.WriteHeader(http.StatusTooManyRequests)
	})
	var limited *forge.LimitedError
	for range 5 {
		if _, err := f.Repository(context.Background()); !errors.As(err, &limited) {
			t.Fatal(err)
		}
	}
	if n := len(w.Sent()); n != 1 {
		t.Errorf("%d requests were sent, want 1", n)
	}
	w.Fault(nil)
	now = now.Add(time.Minute)
	if _, err := f.Repository(context.Background()); err != nil {
		t.Error(err)
	}
	if rate := f.Rate(); !rate.Known || rate.Limit != 5000 || rate.Remaining != 4987 || rate.Reset.IsZero() {
		t.Errorf("the rate is %+v", rate)
	}
}

func TestAForgeThatDoesNotAnswer(t *testing.T) {
	end := make(chan struct{})
	w := forgefake.GitHub(t)
	defer close(end)
	w.Fault(func(http.ResponseWriter, *http.Request) { <-end })
	c := w.Config(t, forgetest.Full)
	c.Timeout = 50 * time.Millisecond
	_, err := world{w}.Open(t, c).Repository(context.Background())
	var down *forge.DownError
	if !errors.As(err, &down) || !strings.Contains(err.Error(), "no response in time") {
		t.Error(err)
	}
}

func TestOnlyTheConfiguredOriginGetsCredentials(t *testing.T) {
	got := ""
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got += r.Header.Get("Authorization") + "!" }))
	defer other.Close()
	now := time.Now()
	f, w := faulty(t, &now, func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Link", "<"+other.URL+`/2>; rel="next"`)
		out.Write([]byte("[]")) //nolint:errcheck // the client notices
	})
	if _, err := f.PullRequests(context.Background(), time.Time{}); err == nil || !strings.Contains(err.Error(), "more than 200 pages") {
		t.Error(err)
	}
	if got != "" || len(w.Sent()) != 200 {
		t.Errorf("the other server got %q, ours %d requests", got, len(w.Sent()))
	}
	w.Fault(func(out http.ResponseWriter, r *http.Request) {
		http.Redirect(out, r, other.URL+"/2", http.StatusFound)
	})
	if _, err := f.PullRequests(context.Background(), time.Time{}); err == nil || !strings.Contains(err.Error(), "another host") || got != "" {
		t.Error(err, got)
	}
}

func TestAnEndlessListEnds(t *testing.T) {
	now := time.Now()
	f, w := faulty(t, &now, func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Link", "<http://"+r.Host+r.URL.Path+`>; rel="next"`)
		out.Write([]byte("[]")) //nolint:errcheck // the client notices
	})
	if _, err := f.PullRequests(context.Background(), time.Time{}); err == nil {
		t.Error("an endless list ended")
	}
	if n := len(w.Sent()); n > 200 {
		t.Errorf("%d requests", n)
	}
}

func TestConfigurations(t *testing.T) {
	w := forgefake.GitHub(t)
	gate := w.Config(t, forgetest.Full)
	gate.Gate = &outbound.Gate{Connect: time.Second, Refused: func(string) error { return errors.New("private") }}
	_, err := world{w}.Open(t, gate).Repository(context.Background())
	var down *forge.DownError
	if !errors.As(err, &down) || len(w.Sent()) != 0 {
		t.Errorf("a private address behind the gate: %v", err)
	}
	for name, change := range map[string]func(*forge.Config){
		"no address":                    func(c *forge.Config) { c.Repository = "infra" },
		"a path that climbs":            func(c *forge.Config) { c.Repository = "https://github.com/acme/.." },
		"a path of three":               func(c *forge.Config) { c.Repository = "https://github.com/a/b/c" },
		"a password in the API address": func(c *forge.Config) { c.API = "https://me:hunter2@github.com" },
		"an API that is no URL":         func(c *forge.Config) { c.API = "github.com" },
		"a key that is none":            func(c *forge.Config) { c.Credentials.App = &forge.App{ID: "1", Key: "hunter2"} },
	} {
		c := w.Config(t, forgetest.Full)
		change(&c)
		if _, err := github.Open(c); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", gate.Credentials, gate, gate.Credentials); strings.Contains(text, "token-full") {
		t.Errorf("printed, it shows the token: %s", text)
	}
}

func TestAGitHubApp(t *testing.T) {
	w := forgefake.GitHub(t)
	f := world{w}.Open(t, w.App(t))
	n := w.Create(t, forgetest.Simple("app"))
	ctx := context.Background()
	p, err := f.PullRequest(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Limits().Annotations {
		t.Error("an App has annotations")
	}
	s := forge.Status{Name: "yuba", Result: forge.Pending, Description: "waits", URL: "https://yuba.example.com"}
	for _, result := range []forge.Result{forge.Pending, forge.Pending, forge.Failure} {
		s.Result = result
		if result == forge.Failure {
			for i := range 120 {
				s.Annotations = append(s.Annotations, forge.Annotation{Path: "main.tf", Line: i, Title: "Invalid", Message: "not valid"})
			}
		}
		if err := f.SetStatus(ctx, p.Head.Commit, s); err != nil {
			t.Fatal(err)
		}
	}
	list, err := f.Statuses(ctx, p.Head.Commit)
	if err != nil || len(list) != 1 || list[0].Result != forge.Failure || list[0].URL != s.URL {
		t.Errorf("the statuses are %+v %v", list, err)
	}
	if got := w.Annotations(p.Head.Commit); got != 120 {
		t.Errorf("%d annotations, want 120", got)
	}
	renewals := 0
	for _, request := range w.Sent() {
		if strings.HasSuffix(request, "/access_tokens") {
			renewals++
		}
	}
	if renewals != 1 {
		t.Errorf("%d tokens were created, want 1", renewals)
	}
}

func TestOwnAuthoritiesAndProxies(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.Write([]byte(`{"id":77,"full_name":"acme/infra"}`)) //nolint:errcheck // the client notices
	}))
	defer server.Close()
	c := forge.Config{Repository: server.URL + "/acme/infra", Credentials: forge.Credentials{Token: "token-full-4f1c"}, Timeout: 5 * time.Second}
	ask := func() error {
		f, err := github.Open(c)
		if err != nil {
			return err
		}
		_, err = f.Repository(context.Background())
		return err
	}
	if err := ask(); err == nil || !strings.Contains(err.Error(), "untrusted authority") {
		t.Error(err)
	}
	c.Roots = x509.NewCertPool()
	c.Roots.AddCert(server.Certificate())
	if err := ask(); err != nil {
		t.Error(err)
	}
	asked := ""
	proxy := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		asked += r.Method + " " + r.Host
		out.WriteHeader(http.StatusBadGateway)
	}))
	defer proxy.Close()
	c.Proxy, _ = url.Parse(proxy.URL)
	if err := ask(); err == nil || asked != "CONNECT "+strings.TrimPrefix(server.URL, "https://") {
		t.Errorf("%v, the proxy got %q", err, asked)
	}
}
