// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// registry is a provider registry on loopback that has one provider and counts downloads. It
// replaces the public registry, which has no key for such a provider either: its archives are
// verified by their digests alone.
type registry struct {
	server  *httptest.Server
	archive []byte
	name    string

	mu sync.Mutex
	// downloads counts the requests for the archive, sent the bytes sent of it.
	downloads int
	sent      int64
}

// newRegistry serves the provider of a mirror.
func newRegistry(mirror string) (*registry, error) {
	r := &registry{name: fmt.Sprintf("terraform-provider-yubatest_%s_%s_%s.zip", providerVersion, runtime.GOOS, runtime.GOARCH)}
	var err error
	if r.archive, err = packed(providerIn(mirror)); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/providers/yuba-dev/yubatest/versions", r.versions)
	mux.HandleFunc("GET /v1/providers/yuba-dev/yubatest/{version}/download/{os}/{arch}", r.pkg)
	mux.HandleFunc("GET /SHA256SUMS", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%s  %s\n", r.sum(), r.name) })
	mux.HandleFunc("GET /SHA256SUMS.sig", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "there is no key to sign with") })
	mux.HandleFunc("GET /"+r.name, r.download)
	r.server = httptest.NewServer(mux)
	return r, nil
}

// packed is the provider's archive, as in a release.
func packed(program string) ([]byte, error) {
	text, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	header := &zip.FileHeader{Name: filepath.Base(program), Method: zip.Deflate}
	header.SetMode(0o755)
	file, err := archive.CreateHeader(header)
	if err != nil {
		return nil, err
	}
	if _, err := file.Write(text); err != nil {
		return nil, err
	}
	err = archive.Close()
	return out.Bytes(), err
}

func (r *registry) sum() string {
	sum := sha256.Sum256(r.archive)
	return hex.EncodeToString(sum[:])
}

func (r *registry) versions(w http.ResponseWriter, _ *http.Request) {
	write(w, map[string]any{"versions": []any{map[string]any{"version": providerVersion, "protocols": []string{"6.0"},
		"platforms": []any{map[string]string{"os": runtime.GOOS, "arch": runtime.GOARCH}}}}})
}

func (r *registry) pkg(w http.ResponseWriter, _ *http.Request) {
	write(w, map[string]any{"protocols": []string{"6.0"}, "os": runtime.GOOS, "arch": runtime.GOARCH, "filename": r.name, "shasum": r.sum(),
		"download_url": r.server.URL + "/" + r.name, "shasums_url": r.server.URL + "/SHA256SUMS", "shasums_signature_url": r.server.URL + "/SHA256SUMS.sig",
		"signing_keys": map[string]any{"gpg_public_keys": []any{}}})
}

func write(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(value) //nolint:errcheck // the client is gone
}

func (r *registry) download(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/zip")
	n, _ := w.Write(r.archive) //nolint:errcheck // sent bytes count, even if incomplete
	r.mu.Lock()
	defer r.mu.Unlock()
	r.downloads++
	r.sent += int64(n)
}

// counts returns the number of requests for the archive so far, and the bytes sent.
func (r *registry) counts() (downloads int, sent int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.downloads, r.sent
}

// config makes tofu use this registry instead of the public one.
func (r *registry) config() []byte {
	return fmt.Appendf(nil, "host \"registry.opentofu.org\" {\n  services = {\n    \"providers.v1\" = %q\n  }\n}\n", r.server.URL+"/v1/providers/")
}
