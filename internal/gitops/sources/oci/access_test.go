// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
)

func dockerConfig(host, user, password string) []byte {
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	return fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, host, auth)
}

func credentials(t *testing.T, host, user, password string) Credentials {
	t.Helper()
	var c Credentials
	if err := c.AddDockerConfig(dockerConfig(host, user, password)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBasicAuthentication(t *testing.T) {
	registry := ocitest.New(t, ocitest.BasicAuth("reader", "secret"))
	registry.Push(t, app, "1.0.0", ocitest.Files{"a": "a"})
	right := wanted(registry, func(r *Repository) {
		r.SemVer, r.Credentials = "1.x", credentials(t, registry.Host(), "reader", "secret")
	})
	if found := files(t, look(t, New(), right, false)); found["a"] != "a" {
		t.Error(found)
	}
	for sentence, c := range map[string]Credentials{
		"nobody":             {},
		"a wrong password":   credentials(t, registry.Host(), "reader", "wrong-password"),
		"another registry's": credentials(t, "ghcr.io", "reader", "secret"),
	} {
		_, err := New().Look(t.Context(), wanted(registry, func(r *Repository) { r.Tag, r.Credentials = "1.0.0", c }), false)
		wantFailure(t, err, reasonPull, false, "401 Unauthorized: the credentials of spec.secretRef")
		if err != nil && strings.Contains(err.Error(), "wrong-password") {
			t.Errorf("%s: the error contains the password", sentence)
		}
	}
}

// tokens is a registry that requires a token, with the server that issues it for a password.
func tokens(t *testing.T, registry *ocitest.Registry) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "reader" || password != "secret" || r.URL.Query().Get("scope") != "repository:"+app+":pull" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"token":"the-token","expires_in":300}`)
	}))
	t.Cleanup(server.Close)
	// Registries may redirect to host names, but not to private addresses.
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	registry.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "Bearer the-token" {
			return false
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://localhost:%s/token",service="test"`, port))
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
}

func TestTokenAuthentication(t *testing.T) {
	registry := ocitest.New(t)
	registry.Push(t, app, "latest", ocitest.Files{"a": "a"})
	tokens(t, registry)
	for password, ok := range map[string]bool{"secret": true, "wrong": false} {
		_, err := New().Look(t.Context(), wanted(registry, func(r *Repository) {
			r.Insecure, r.Credentials = true, credentials(t, registry.Host(), "reader", password)
		}), false)
		if (err == nil) != ok {
			t.Errorf("password %s: %v", password, err)
		}
	}
}

func TestCredentialsDoNotGoToPrivateAddresses(t *testing.T) {
	registry := ocitest.New(t)
	registry.SetFault(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("WWW-Authenticate", `Bearer realm="http://10.0.0.1/token",service="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	_, err := New().Look(t.Context(), wanted(registry, func(r *Repository) {
		r.Insecure, r.Credentials = true, credentials(t, registry.Host(), "reader", "secret")
	}), false)
	wantFailure(t, err, reasonPull, false, "the registry asks to send the credentials to another server")
}

func TestTLS(t *testing.T) {
	registry := ocitest.New(t, ocitest.TLS())
	registry.Push(t, app, "latest", ocitest.Files{"a": "a"})
	trusting := wanted(registry, func(r *Repository) { r.Access.CA = registry.CA() })
	if found := files(t, look(t, New(), trusting, false)); found["a"] != "a" {
		t.Error(found)
	}
	look(t, New(), wanted(registry, func(r *Repository) { r.Insecure, r.Access.SkipVerify = true, true }), false)
	_, err := New().Look(t.Context(), wanted(registry, nil), false)
	wantFailure(t, err, reasonPull, false, "")
	_, err = New().Look(t.Context(), wanted(registry, func(r *Repository) { r.Access.CA = []byte("nonsense") }), false)
	wantFailure(t, err, reasonAuthentication, false, "ca.crt does not contain a certificate in PEM")
}

func TestCertificatesRequireTLS(t *testing.T) {
	// A machine in between answers with HTTP, to receive the password.
	registry := ocitest.New(t)
	registry.Push(t, app, "latest", ocitest.Files{"a": "a"})
	certificate, _ := selfSigned(t)
	r := wanted(registry, func(r *Repository) {
		r.Access.CA, r.Credentials = certificate, credentials(t, registry.Host(), "reader", "secret")
	})
	_, err := New().Look(t.Context(), r, false)
	wantFailure(t, err, reasonPull, false, "")
	if got := registry.Counts(app); got != (ocitest.Counts{}) {
		t.Errorf("requests without TLS: %+v", got)
	}
	r.Insecure = true
	look(t, New(), r, false)
}

// Registries redirect to servers for blobs, but not from TLS to a server without it.
func TestARedirectionOutOfTLSIsNotFollowed(t *testing.T) {
	registry := ocitest.New(t, ocitest.TLS())
	registry.Push(t, app, "latest", ocitest.Files{"a": "a"})
	inner := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	var asked atomic.Int32
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		response, err := inner.Get("https://" + registry.Host() + strings.TrimPrefix(r.URL.Path, "/moved"))
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	})
	plain, encrypted := httptest.NewServer(serve), httptest.NewTLSServer(serve)
	t.Cleanup(plain.Close)
	t.Cleanup(encrypted.Close)
	for sentence, test := range map[string]struct {
		to      string
		problem string
	}{
		"to https": {encrypted.URL, ""},
		"to http":  {plain.URL, "it redirects from https:// to http://"},
	} {
		t.Run(sentence, func(t *testing.T) {
			asked.Store(0)
			registry.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "/blobs/") || strings.HasPrefix(r.UserAgent(), "Go-http-client") {
					return false
				}
				http.Redirect(w, r, test.to+"/moved"+r.URL.Path, http.StatusTemporaryRedirect)
				return true
			})
			r := wanted(registry, func(r *Repository) { r.Access.SkipVerify = true })
			artifact, err := New().Look(t.Context(), r, true)
			if err == nil {
				err = artifact.Fetch(t.Context(), t.TempDir())
			}
			if test.problem == "" {
				if err != nil || asked.Load() == 0 {
					t.Errorf("error %v after %d requests", err, asked.Load())
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.problem) || asked.Load() != 0 {
				t.Errorf("error %v, want %q; %d requests", err, test.problem, asked.Load())
			}
		})
	}
}

// proxy forwards and counts connections and requests.
func proxy(t *testing.T, target string) (*url.URL, *atomic.Int32) {
	t.Helper()
	used := &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		used.Add(1)
		if user, password, ok := parseProxyAuth(r); !ok || user != "me" || password != "pass" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		out, err := net.Dial("tcp", target)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer out.Close()
		if r.Method == http.MethodConnect {
			tunnel(w, out)
			return
		}
		r.Header.Del("Proxy-Authorization")
		response, err := onConnection(out).RoundTrip(r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		for key := range response.Header {
			w.Header().Set(key, response.Header.Get(key))
		}
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	t.Cleanup(server.Close)
	return &url.URL{Scheme: "http", Host: server.Listener.Addr().String(), User: url.UserPassword("me", "pass")}, used
}

func onConnection(out net.Conn) *http.Transport {
	dial := func(context.Context, string, string) (net.Conn, error) { return out, nil }
	return &http.Transport{DialContext: dial, DisableKeepAlives: true}
}

func tunnel(w http.ResponseWriter, out net.Conn) {
	in, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer in.Close()
	_, _ = io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(out, buffered); out.Close() }()
	_, _ = io.Copy(in, out)
}

func parseProxyAuth(r *http.Request) (string, string, bool) {
	return (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
}

func TestAProxy(t *testing.T) {
	registry := ocitest.New(t, ocitest.TLS())
	registry.Push(t, app, "latest", ocitest.Files{"a": "a"})
	through, used := proxy(t, registry.Host())
	r := wanted(registry, func(r *Repository) {
		// Only the proxy can resolve this name.
		r.URL = "oci://registry.invalid/" + app
		r.Access.Proxy, r.Access.SkipVerify = through, true
	})
	if found := files(t, look(t, New(), r, false)); found["a"] != "a" || used.Load() == 0 {
		t.Errorf("%v, the proxy was used %d times", found, used.Load())
	}
	r.Access.Proxy = &url.URL{Scheme: "http", Host: through.Host, User: url.UserPassword("me", "wrong-password")}
	_, err := New().Look(t.Context(), r, false)
	wantFailure(t, err, reasonPull, false, "")
	if err != nil && strings.Contains(err.Error(), "wrong-password") {
		t.Error("the error contains the password")
	}
}

func TestAClientCertificate(t *testing.T) {
	registry := ocitest.New(t, ocitest.TLS())
	registry.Push(t, app, "latest", ocitest.Files{"a": "a"})
	certificate, key := selfSigned(t)
	target := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		inner := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		r.URL.Scheme, r.URL.Host = "https", registry.Host()
		response, err := inner.RoundTrip(r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		for key := range response.Header {
			w.Header().Set(key, response.Header.Get(key))
		}
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	target.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	target.StartTLS()
	t.Cleanup(target.Close)
	r := wanted(registry, func(r *Repository) {
		r.URL, r.Access.SkipVerify = "oci://"+target.Listener.Addr().String()+"/"+app, true
	})
	_, err := New().Look(t.Context(), r, false)
	wantFailure(t, err, reasonPull, false, "403")
	r.Access.Certificate, r.Access.Key = certificate, key
	look(t, New(), r, false)
}

func TestWhichCredentialsAreUsed(t *testing.T) {
	var c Credentials
	for _, document := range []string{
		`{"auths":{"ghcr.io":{"username":"host"},"ghcr.io/team":{"username":"path"},"ghcr.io/team/app":{"username":"deep"}}}`,
		`{"auths":{"https://index.docker.io/v1/":{"username":"hub"},"*.example.com":{"username":"wild"},"https://quay.io":{"auth":"cTpw"}}}`,
		`{"ghcr.io":{"username":"second"},"old.example.org:5000":{"username":"old"}}`,
	} {
		if err := c.AddDockerConfig([]byte(document)); err != nil {
			t.Fatal(err)
		}
	}
	for repository, want := range map[string]string{
		"ghcr.io/other": "host", "ghcr.io/team/x": "path", "ghcr.io/team/app": "deep", "ghcr.io/teams": "host", "ghcr.io/team/apples": "path",
		"library/alpine": "hub", "docker.io/x/y": "hub", "a.example.com/x": "wild", "a.b.example.com/x": "", "example.com/x": "",
		"quay.io/x": "q", "old.example.org:5000/x": "old", "old.example.org/x": "", "evil.io/ghcr.io": "",
	} {
		parsed, err := name.NewRepository(repository)
		if err != nil {
			t.Fatal(err)
		}
		config, err := authn.Authorization(t.Context(), c.authenticator(parsed))
		if err != nil || config.Username != want {
			t.Errorf("%s: %q, %v; want %q", repository, config.Username, err, want)
		}
	}
	for _, document := range []string{`{`, `{}`, `[]`, `{"auths":{}}`, `{"auths":{"x":{"auth":"not base64 hunter2"}}}`, `{"auths":"hunter2"}`} {
		if err := new(Credentials).AddDockerConfig([]byte(document)); document != `{"auths":{}}` && (err == nil || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v", document, err)
		}
	}
}
