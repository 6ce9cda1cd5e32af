// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Browsers get assets compressed, keep them, and are told if they have them already.
func TestAssetsAreSentShort(t *testing.T) {
	h := Handler("e1")
	ask := func(address string, headers ...string) *http.Response {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result()
	}
	for name, kind := range map[string]string{"style.css": "text/css", "yuba.js": "text/javascript", "yuba.svg": "image/svg+xml"} {
		short := ask("/assets/"+name+"?e1", "Accept-Encoding", "gzip, br")
		body, err := gzip.NewReader(short.Body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		data, err := io.ReadAll(body)
		if err != nil || !bytes.Equal(data, Read(name)) {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
		if got := short.Header; !strings.HasPrefix(got.Get("Content-Type"), kind) || !strings.Contains(got.Get("Cache-Control"), "immutable") || got.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v", name, got)
		}
		plain := ask("/assets/" + name)
		if data, err := io.ReadAll(plain.Body); err != nil || !bytes.Equal(data, Read(name)) || plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s as it is: %v, %v", name, plain.Header, err)
		}
		if again := ask("/assets/"+name, "If-None-Match", plain.Header.Get("ETag"), "Accept-Encoding", "gzip"); again.StatusCode != http.StatusNotModified {
			t.Errorf("%s again: %s", name, again.Status)
		}
	}
	if missing := ask("/assets/none.js", "Accept-Encoding", "gzip"); missing.StatusCode != http.StatusNotFound {
		t.Errorf("an asset that is not there: %s", missing.Status)
	}
}
