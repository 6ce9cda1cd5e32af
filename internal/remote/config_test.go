// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

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
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config, err := Config([]byte(fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
		"clusters: [{name: c, cluster: {server: %s, certificate-authority-data: %s}}]\nusers: [{name: u, user: {token: t}}]",
		server.URL, base64.StdEncoding.EncodeToString(authority))))
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for path, fails := range map[string]bool{"/small": false, "/large": true} {
		response, err := client.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if (err != nil) != fails || fails && !strings.Contains(err.Error(), "the remote cluster's answer has more than") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
