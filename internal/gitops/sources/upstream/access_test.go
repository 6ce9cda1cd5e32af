// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

func TestIdentitiesDistinguishAccesses(t *testing.T) {
	proxy := &url.URL{Scheme: "http", Host: "proxy"}
	accesses := map[string]Access{
		"nothing":                  {},
		"a CA":                     {CA: []byte("x")},
		"a certificate":            {Certificate: []byte("x")},
		"a key":                    {Key: []byte("x")},
		"a proxy":                  {Proxy: proxy},
		"a password of the proxy":  {Proxy: &url.URL{Scheme: "http", Host: "proxy", User: url.UserPassword("u", "p")}},
		"another password":         {Proxy: &url.URL{Scheme: "http", Host: "proxy", User: url.UserPassword("u", "q")}},
		"no verification":          {SkipVerify: true},
		"credentials":              {Credentials: [][]byte{[]byte("ab"), []byte("c")}},
		"credentials cut in other": {Credentials: [][]byte{[]byte("a"), []byte("bc")}},
	}
	seen := map[string]string{}
	for name, access := range accesses {
		id := access.Identity("part")
		if other, taken := seen[id]; taken {
			t.Errorf("%s and %s have equal identities", name, other)
		}
		seen[id] = name
		if id != access.Identity("part") || id == access.Identity("pa", "rt") || id == access.Identity() {
			t.Errorf("%s: the identity does not depend on the parts", name)
		}
	}
}

func TestTransportExplainsInvalidCertificates(t *testing.T) {
	for want, access := range map[string]Access{
		"ca.crt does not contain a certificate": {CA: []byte("not PEM")},
		"tls.crt and tls.key":                   {Certificate: []byte("not PEM")},
	} {
		if _, err := access.Transport(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestMetadataServicesAreNotAsked(t *testing.T) {
	for name, access := range map[string]Access{"directly": {}, "through a proxy": {Proxy: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}}} {
		transport, err := access.Transport()
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://169.254.169.254/latest/meta-data", nil)
		if err != nil {
			t.Fatal(err)
		}
		var forbidden *outbound.ForbiddenError
		if _, err := transport.RoundTrip(request); !errors.As(err, &forbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOnlyContentIsUnbounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/error" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 1000))
	}))
	t.Cleanup(server.Close)
	transport, err := Access{}.Transport()
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]bool{"/list": false, "/content": true, "/error": false} {
		ctx := t.Context()
		if path != "/list" {
			ctx = Content(ctx)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := Bounded(transport, 999).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(response.Body)
		var limit *archive.LimitError
		if errors.As(err, &limit) == content {
			t.Errorf("%s: %v", path, err)
		}
		response.Body.Close()
	}
}
