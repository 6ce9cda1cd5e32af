// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/offer"
)

// sendFile sends a file that never changes, or the part of it that the client asks for. It may take as
// long as the client needs.
func (s *Server) sendFile(w http.ResponseWriter, r *http.Request, f offer.File, contentType string) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "private, max-age=86400, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	if sum, ok := strings.CutPrefix(f.Digest, "sha256:"); ok {
		h.Set("ETag", `"`+f.Digest+`"`)
		if raw, err := hex.DecodeString(sum); err == nil {
			h.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(raw)+":")
		}
	}
	if content, ok := f.Content.(io.ReadSeeker); ok {
		http.ServeContent(w, r, "", f.Modified, content)
		return nil
	}
	if f.Size > 0 {
		h.Set("Content-Length", strconv.FormatInt(f.Size, 10))
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err := io.Copy(w, f.Content); err != nil {
		s.opts.Log.Warn("sending a file failed", "file", r.PathValue("file"), "error", err)
		panic(http.ErrAbortHandler) // the client must notice that it is incomplete
	}
	return nil
}
