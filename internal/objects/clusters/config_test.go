// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// kubeconfig names a server, with a token for it.
func kubeconfig(server *httptest.Server) []byte {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return fmt.Appendf(nil, "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
		"clusters: [{name: c, cluster: {server: '%s', certificate-authority-data: %s}}]\nusers: [{name: u, user: {token: hunter2}}]",
		server.URL, base64.StdEncoding.EncodeToString(authority))
}

func TestCredentialsGoToNobodyInClearText(t *testing.T) {
	const text = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
		"clusters: [{name: c, cluster: {server: 'SERVER'}}]\nusers: [{name: u, user: {token: hunter2}}]"
	for server, refused := range map[string]bool{
		"http://10.0.0.1:8080": true, "HTTP://10.0.0.1": true, "http://127.0.0.1:8001": true, "10.0.0.1:6443": true, "unix:///run/x": true,
		"https://10.0.0.1:6443": false, "HTTPS://api.example.com": false,
	} {
		_, err := Config([]byte(strings.Replace(text, "SERVER", server, 1)))
		if (err != nil) != refused || err != nil && !strings.Contains(err.Error(), "https://") {
			t.Errorf("%s: %v", server, err)
		}
	}
}

// The token is put onto each request, after Go has taken it off one that is redirected elsewhere.
func TestCredentialsAreNotRedirected(t *testing.T) {
	var asked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer elsewhere.Close()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		case "/near":
			http.Redirect(w, r, "/there", http.StatusFound)
		}
	}))
	defer server.Close()
	client := clientOf(t, server)
	for path, want := range map[string]error{"/near": nil, "/away": ErrRedirected} {
		response, err := client.Get(server.URL + path)
		if err == nil {
			response.Body.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if asked.Load() > 0 {
		t.Error("the other server was asked")
	}
}

// Who owns the remote cluster must not fill this server's memory.
func TestAnswersOfRemoteClustersAreBounded(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		piece := make([]byte, 1<<20)
		for range 2 * maxAnswer >> 20 {
			if _, err := w.Write(piece); err != nil || r.URL.Path == "/small" {
				return
			}
		}
	}))
	defer server.Close()
	client := clientOf(t, server)
	for path, fails := range map[string]bool{"/small": false, "/large": true} {
		response, err := client.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if (err != nil) != fails || fails && !strings.Contains(err.Error(), "the remote cluster's response has more than") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// clientOf speaks to a server as its kubeconfig says.
func clientOf(t *testing.T, server *httptest.Server) *http.Client {
	t.Helper()
	config, err := Config(kubeconfig(server))
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
