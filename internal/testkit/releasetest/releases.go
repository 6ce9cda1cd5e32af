// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package releasetest serves releases of OpenTofu that a test made and signed, in the layout of the
// real ones.
package releasetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Releases are served from a directory, which tests may damage.
type Releases struct {
	// URL is their address; KeyFile has the public key; Dir is their directory.
	URL, KeyFile, Dir string

	t      testing.TB
	signer *openpgp.Entity
	mu     sync.Mutex
	asked  []string
	cut    string
}

// New serves an empty directory.
func New(t testing.TB) *Releases {
	t.Helper()
	r := &Releases{Dir: t.TempDir(), KeyFile: filepath.Join(t.TempDir(), "key.asc"), t: t}
	r.signer = NewKey(t, r.KeyFile)
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL + "/releases"
	return r
}

// NewKey makes a key and writes its public half to a file.
func NewKey(t testing.TB, path string) *openpgp.Entity {
	t.Helper()
	key, err := openpgp.NewEntity("Releases of the tests", "", "releases@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		t.Fatalf("make a key: %v", err)
	}
	var text bytes.Buffer
	w, err := armor.Encode(&text, openpgp.PublicKeyType, nil)
	if err == nil {
		err = errors.Join(key.Serialize(w), w.Close(), os.WriteFile(path, text.Bytes(), 0o600))
	}
	if err != nil {
		t.Fatalf("write a key: %v", err)
	}
	return key
}

// ArchiveName is the name of a version's archive for this platform.
func ArchiveName(version string) string {
	return fmt.Sprintf("tofu_%s_%s_%s.tar.gz", version, runtime.GOOS, runtime.GOARCH)
}

// Path is the path of a file of a version.
func (r *Releases) Path(version, file string) string { return filepath.Join(r.Dir, "v"+version, file) }

// Sums is the name of a version's list of checksums.
func Sums(version string) string { return "tofu_" + version + "_SHA256SUMS" }

// Publish makes and signs a release for this platform, with these bytes as program.
func (r *Releases) Publish(version string, program []byte) {
	r.t.Helper()
	r.PublishEntry(version, &tar.Header{Name: "tofu", Mode: 0o755, Typeflag: tar.TypeReg, Size: int64(len(program))}, program)
}

// PublishEntry makes a release whose archive has this entry after the licence.
func (r *Releases) PublishEntry(version string, entry *tar.Header, content []byte) {
	r.t.Helper()
	var archive bytes.Buffer
	zipped, _ := gzip.NewWriterLevel(&archive, gzip.BestSpeed)
	w := tar.NewWriter(zipped)
	err := w.WriteHeader(&tar.Header{Name: "LICENSE", Mode: 0o644, Typeflag: tar.TypeReg})
	if err == nil {
		err = w.WriteHeader(entry)
	}
	if err == nil {
		_, err = w.Write(content)
	}
	if err := errors.Join(err, w.Close(), zipped.Close(), os.MkdirAll(filepath.Join(r.Dir, "v"+version), 0o755)); err != nil {
		r.t.Fatalf("make an archive: %v", err)
	}
	r.Write(version, ArchiveName(version), archive.Bytes())
	r.Sign(version, r.signer, fmt.Sprintf("%x  %s\n", sha256.Sum256(archive.Bytes()), ArchiveName(version)))
}

// Sign writes a version's list of checksums, signed by a key.
func (r *Releases) Sign(version string, key *openpgp.Entity, sums string) {
	r.t.Helper()
	var signature bytes.Buffer
	if err := openpgp.DetachSign(&signature, key, strings.NewReader(sums), nil); err != nil {
		r.t.Fatalf("sign: %v", err)
	}
	r.Write(version, Sums(version), []byte(sums))
	r.Write(version, Sums(version)+".gpgsig", signature.Bytes())
}

// Write replaces a file of a version.
func (r *Releases) Write(version, file string, content []byte) {
	r.t.Helper()
	if err := os.WriteFile(r.Path(version, file), content, 0o600); err != nil {
		r.t.Fatalf("write a release: %v", err)
	}
}

// List writes the origin's list of versions.
func (r *Releases) List(versions ...string) {
	r.t.Helper()
	var ids []string
	for _, v := range versions {
		ids = append(ids, fmt.Sprintf(`{"id": %q, "files": []}`, v))
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "api.json"), []byte(`{"versions": [`+strings.Join(ids, ", ")+`]}`), 0o600); err != nil {
		r.t.Fatalf("write the list of releases: %v", err)
	}
}

// Cut makes the server stop in the middle of a file.
func (r *Releases) Cut(file string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = file
}

// Asked lists the requested files, and clears the list.
func (r *Releases) Asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

// ServeHTTP serves the directory, with redirects as on GitHub.
func (r *Releases) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if path, ok := strings.CutPrefix(request.URL.Path, "/releases/"); ok {
		http.Redirect(w, request, "/files/"+path, http.StatusFound)
		return
	}
	file := filepath.Base(request.URL.Path)
	r.mu.Lock()
	r.asked = append(r.asked, file)
	cut := r.cut == file
	r.mu.Unlock()
	content, err := os.ReadFile(filepath.Join(r.Dir, filepath.FromSlash(strings.TrimPrefix(request.URL.Path, "/files/"))))
	if err != nil {
		http.NotFound(w, request)
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	if cut {
		content = content[:len(content)/2] // the server closes the connection after an incomplete answer
	}
	_, _ = io.Copy(w, bytes.NewReader(content))
}
