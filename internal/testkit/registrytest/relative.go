// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
)

// Relative serves the registry as the registry of a Yuba server does to its runs: with relative
// links, and providers also below /v1/upstream/HOST/, whatever the host is.
func (r *Registry) Relative() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := req.URL.Path
		if rest, below := strings.CutPrefix(name, "/v1/upstream/"); below {
			_, rest, _ = strings.Cut(rest, "/")
			name = "/v1/providers/" + rest
		}
		name = strings.TrimPrefix(name, "/v1/files")
		inner := req.Clone(req.Context())
		inner.URL.Path = name
		if name != req.URL.Path && !strings.HasPrefix(name, "/v1/") { // archives are large, and may halt
			r.ServeHTTP(w, inner)
			return
		}
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, inner)
		up := strings.Repeat("../", strings.Count(req.URL.Path, "/")-2) + "files/"
		if from := answer.Header().Get("X-Terraform-Get"); from != "" {
			w.Header().Set("X-Terraform-Get", up+strings.TrimPrefix(from, r.http.URL+"/"))
		}
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(bytes.ReplaceAll(answer.Body.Bytes(), []byte(r.http.URL+"/"), []byte(up))) // fails only if the client is gone
	})
}
