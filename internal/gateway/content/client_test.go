// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// served is one request as a server got it.
type served struct{ Method, Path, Query, Token, Body string }

// contentServer answers like a server of content and notes what it was asked.
func contentServer(t *testing.T, log *[]served) *httptest.Server {
	return httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*log = append(*log, served{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Authorization"), string(body)})
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/archive"):
			io.WriteString(w, `{"digest":"sha256:1","revision":"latest@sha256:1","size":7,"changed":true}`)
		case strings.HasSuffix(r.URL.Path, "/unlock"):
			w.WriteHeader(http.StatusNoContent)
		case strings.HasSuffix(r.URL.Path, "/log"):
			io.WriteString(w, "{}\n")
		default:
			w.WriteHeader(http.StatusNotFound)
			json.NewEncoder(w).Encode(metav1.Status{Status: "Failure", Code: 404, Reason: metav1.StatusReasonNotFound, Message: "team/vpc has no state yet"})
		}
	}))
}

func configFor(s *httptest.Server) *rest.Config {
	return &rest.Config{Host: s.URL, BearerToken: "t0ken", TLSClientConfig: rest.TLSClientConfig{CAData: certificateOf(s)}}
}

func certificateOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func newClient(t *testing.T, config *rest.Config) *content.Client {
	t.Helper()
	c, err := content.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClientAsksTheAPIServer(t *testing.T) {
	var log []served
	server := contentServer(t, &log)
	defer server.Close()
	c, ctx := newClient(t, configFor(server)), context.Background()

	pushed, err := c.Push(ctx, "team", "vpc", strings.NewReader("archive"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(content.Pushed{Digest: "sha256:1", Revision: "latest@sha256:1", Size: 7, Changed: true}, pushed); diff != "" {
		t.Error(diff)
	}
	if err := c.Unlock(ctx, "team", "vpc", "3f/2a"); err != nil {
		t.Error(err)
	}
	lines, err := c.Log(ctx, "team", "vpc", content.LogOptions{Run: "r1", Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	lines.Close()
	_, err = c.State(ctx, "team", "vpc", "")
	if !apierrors.IsNotFound(err) || err.Error() != "team/vpc has no state yet" {
		t.Errorf("state: %v", err)
	}
	const base = "/apis/content.yuba.dev/v1alpha1/namespaces/team/"
	want := []served{
		{"POST", base + "externalartifacts/vpc/archive", "", "Bearer t0ken", "archive"},
		{"POST", base + "terraforms/vpc/unlock", "id=3f%2F2a", "Bearer t0ken", ""},
		{"GET", base + "terraforms/vpc/log", "follow=true&run=r1", "Bearer t0ken", ""},
		{"GET", base + "terraforms/vpc/state", "", "Bearer t0ken", ""},
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Error(diff)
	}
}

// foreignServer is an API server that knows nothing of content, but may have the ConfigMap.
func foreignServer(where *corev1.ConfigMap) *httptest.Server {
	return httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if where != nil && r.URL.Path == "/api/v1/namespaces/yuba-system/configmaps/yuba-content" {
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(where)
			return
		}
		http.Error(w, "404 page not found", http.StatusNotFound)
	}))
}

func TestClientOfAForeignAPIServer(t *testing.T) {
	t.Run("goes where the ConfigMap says, with its credentials and its body", func(t *testing.T) {
		var log []served
		server := contentServer(t, &log)
		defer server.Close()
		foreign := foreignServer(&corev1.ConfigMap{Data: map[string]string{"url": server.URL, "ca.crt": string(certificateOf(server))}})
		defer foreign.Close()
		c := newClient(t, configFor(foreign))
		for range 2 {
			if _, err := c.Push(context.Background(), "team", "vpc", strings.NewReader("archive")); err != nil {
				t.Fatal(err)
			}
		}
		want := served{"POST", "/apis/content.yuba.dev/v1alpha1/namespaces/team/externalartifacts/vpc/archive", "", "Bearer t0ken", "archive"}
		if diff := cmp.Diff([]served{want, want}, log); diff != "" {
			t.Error(diff)
		}
	})
	cases := map[string]struct {
		where *corev1.ConfigMap
		want  string
	}{
		"without the ConfigMap says so":                     {nil, "Is Yuba running there?"},
		"does not send credentials to an unencrypted place": {&corev1.ConfigMap{Data: map[string]string{"url": "http://x"}}, "does not contain an https address"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			foreign := foreignServer(c.where)
			defer foreign.Close()
			_, err := newClient(t, configFor(foreign)).Server(context.Background())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
