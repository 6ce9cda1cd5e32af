// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"
)

// GCSToken is the access token for the server.
const GCSToken = "ya29.t0ken-of-the-gcs"

// GCS starts fake-gcs-server with one bucket.
func GCS(t testing.TB, bucket string) *Server {
	t.Helper()
	address, number := port(t)
	s := &Server{Secret: map[string]string{"access_token": GCSToken}}
	front := httptest.NewServer(s.guarded(address, "Bearer "+GCSToken))
	t.Cleanup(front.Close)
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	start(t, address, exec.Command(program(t, "fake-gcs-server"), "-scheme", "http", "-host", host, "-port", number, "-backend", "memory",
		"-external-url", front.URL, "-public-host", front.Listener.Addr().String()))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+"/storage/v1/b?project=test", bytes.NewReader([]byte(`{"name":"`+bucket+`"}`)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+GCSToken)
	req.Header.Set("Content-Type", "application/json")
	must(t, req, http.StatusOK)
	s.Settings = map[string]string{"bucket": bucket, "prefix": "live", "storage_custom_endpoint": front.URL + "/storage/v1/"}
	return s
}

// must sends a request whose response must have the status.
func must(t testing.TB, req *http.Request, status int) {
	t.Helper()
	client := &http.Client{Timeout: patience}
	r, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close() //nolint:errcheck // what was read suffices
	if r.StatusCode != status {
		var body bytes.Buffer
		body.ReadFrom(r.Body) //nolint:errcheck // for the message
		t.Fatalf("%s %s: %s, want %d\n%s", req.Method, req.URL, r.Status, status, body.String())
	}
}
