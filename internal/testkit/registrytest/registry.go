// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
)

// T is the part of testing.TB that this package needs; benchmarks implement it.
type T interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Counts are the requests of clients.
type Counts struct {
	// Versions are the requests for versions, Archives the sent packages.
	Versions, Archives int
	// Bytes are the sent bytes of packages.
	Bytes int64
	// ModuleVersions and Modules are the same for modules.
	ModuleVersions, Modules int
}

// Registry is a registry of providers and modules.
type Registry struct {
	t      T
	http   *httptest.Server
	signer *openpgp.Entity
	key    string

	mu       sync.Mutex
	releases map[string]map[string]*release // by NAMESPACE/TYPE, by version
	counts   Counts
	token    string
	down     bool
	gate     chan struct{}
	pages    map[string][]byte
	modules  map[string][]string // versions by NAMESPACE/NAME/SYSTEM
	faults   map[string]faulttest.Fault
	paths    map[string]int
}

// release is one version of a provider.
type release struct {
	archive   []byte
	served    []byte // sent instead of the archive, if set
	archives  map[string]archive
	keys      []any
	reported  map[string]Reported
	sums      []byte
	signature []byte
	others    map[string]string // hashes of other platforms' archives
}

// Fault breaks a release.
type Fault func(*release)

// Tampered sends another archive than the signed one.
func Tampered(r *release) { r.served = append([]byte(nil), append(r.archive, 0)...) }

// Forged signs with an unknown key.
func Forged(r *release) { r.signature = []byte("no signature at all") }

// New starts a registry that ends with the test.
func New(t T) *Registry {
	t.Helper()
	r := &Registry{t: t, releases: map[string]map[string]*release{}}
	var err error
	if r.signer, err = openpgp.NewEntity("Registry of the tests", "", "registry@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA}); err != nil {
		t.Fatalf("make a key: %v", err)
	}
	var key bytes.Buffer
	w, err := armor.Encode(&key, openpgp.PublicKeyType, nil)
	if err == nil {
		err = r.signer.Serialize(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatalf("write the key: %v", err)
	}
	r.key = key.String()
	r.http = httptest.NewUnstartedServer(r)
	r.http.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	r.http.StartTLS()
	t.Cleanup(func() {
		r.http.CloseClientConnections()
		r.http.Close()
	})
	return r
}

// Host is the registry's host in sources.
func (r *Registry) Host() string { return r.http.Listener.Addr().String() }

// Source is the source of a provider, NAMESPACE/TYPE.
func (r *Registry) Source(provider string) string { return r.Host() + "/" + provider }

// MirrorURL is the URL of the network mirror. It has every provider for any host, because tofu does
// not ask a mirror for a host with a port.
func (r *Registry) MirrorURL() string { return r.http.URL + "/mirror/" }

// CAFile writes the certificate to trust into a directory and returns its path.
func (r *Registry) CAFile(dir string) string {
	r.t.Helper()
	path := filepath.Join(dir, "registry-ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.http.Certificate().Raw})
	if err := os.MkdirAll(dir, 0o755); err != nil {
		r.t.Fatalf("%v", err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		r.t.Fatalf("%v", err)
	}
	return path
}

// Program is a package whose program is not a provider, which suffices for installing it.
func Program(name, version string) map[string][]byte {
	return map[string][]byte{
		"terraform-provider-" + name + "_v" + version: []byte("#!/bin/sh\necho this is no provider, but version " + version + "\nexit 1\n"),
		"LICENSE": []byte("none\n"),
	}
}

// Publish makes a release of a provider, NAMESPACE/TYPE, for this platform and, without an archive,
// for another one.
func (r *Registry) Publish(provider, version string, files map[string][]byte, faults ...Fault) {
	r.t.Helper()
	rel := &release{archive: packed(r.t, files), others: map[string]string{"plan9_riscv64": hexSum([]byte(provider + version))}}
	_, name, _ := strings.Cut(provider, "/")
	var sums bytes.Buffer
	fmt.Fprintf(&sums, "%s  %s\n", hexSum(rel.archive), archiveName(name, version, platform()))
	for other, sum := range rel.others {
		fmt.Fprintf(&sums, "%s  %s\n", sum, archiveName(name, version, other))
	}
	rel.sums = sums.Bytes()
	var signature bytes.Buffer
	if err := openpgp.DetachSign(&signature, r.signer, bytes.NewReader(rel.sums), nil); err != nil {
		r.t.Fatalf("sign: %v", err)
	}
	rel.signature = signature.Bytes()
	rel.archives = map[string]archive{platform(): {data: rel.archive, sum: hexSum(rel.archive), size: int64(len(rel.archive))}}
	rel.keys = []any{map[string]string{"key_id": r.signer.PrimaryKey.KeyIdString(), "ascii_armor": r.key}}
	for _, fault := range faults {
		fault(rel)
	}
	r.add(provider, version, rel)
}

func (r *Registry) add(provider, version string, rel *release) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.releases[provider] == nil {
		r.releases[provider] = map[string]*release{}
	}
	r.releases[provider][version] = rel
}

// Hashes are the hashes of a release's archives: of this platform, and of the other one.
func (r *Registry) Hashes(provider, version string) (own, other string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rel := r.releases[provider][version]
	return "zh:" + hexSum(rel.archive), "zh:" + rel.others["plan9_riscv64"]
}

// Size is the size of a release's archive.
func (r *Registry) Size(provider, version string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(len(r.releases[provider][version].archive))
}

// ServeModule serves a module as an archive, and returns its source.
func (r *Registry) ServeModule(name string, files map[string][]byte) string {
	r.t.Helper()
	archive := packed(r.t, files)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pages == nil {
		r.pages = map[string][]byte{}
	}
	r.pages["/modules/"+name+".zip"] = archive
	return r.http.URL + "/modules/" + name + ".zip"
}

// Counts returns the requests so far.
func (r *Registry) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

// RequireToken rejects requests without this token.
func (r *Registry) RequireToken(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.token = token
}

// SetDown makes the registry unavailable, or available again.
func (r *Registry) SetDown(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

// Halt stops the download of archives after the first half, until the returned function is called.
func (r *Registry) Halt() (resume func()) {
	gate := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate = gate
	return sync.OnceFunc(func() {
		r.mu.Lock()
		r.gate = nil
		r.mu.Unlock()
		close(gate)
	})
}

func platform() string { return runtime.GOOS + "_" + runtime.GOARCH }

func archiveName(name, version, platform string) string {
	return "terraform-provider-" + name + "_" + version + "_" + platform + ".zip"
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func packed(t T, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		header.SetMode(0o755)
		f, err := w.CreateHeader(header)
		if err == nil {
			_, err = f.Write(files[name])
		}
		if err != nil {
			t.Fatalf("pack %s: %v", name, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatalf("pack: %v", err)
	}
	return out.Bytes()
}

// ServeHTTP serves the protocols of registries and of network mirrors.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !r.broken(w, req) {
		r.serve(w, req)
	}
}

func (r *Registry) serve(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	down, token, page := r.down, r.token, r.pages[req.URL.Path]
	r.mu.Unlock()
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	switch {
	case down:
		panic(http.ErrAbortHandler)
	case page != nil:
		r.sendModule(w, req, page)
	case req.URL.Path == "/.well-known/terraform.json":
		answer(w, map[string]string{"providers.v1": "/v1/providers/", "modules.v1": "/v1/modules/"})
	case token != "" && parts[0] == "v1" && req.Header.Get("Authorization") != "Bearer "+token:
		http.Error(w, "who are you?", http.StatusUnauthorized)
	case r.serveModules(w, parts):
	case len(parts) == 5 && parts[0] == "v1" && parts[4] == "versions":
		r.versions(w, parts[2]+"/"+parts[3])
	case len(parts) == 8 && parts[0] == "v1" && parts[5] == "download":
		r.download(w, parts[2]+"/"+parts[3], parts[4], parts[6]+"_"+parts[7])
	case len(parts) == 5 && parts[0] == "mirror":
		r.mirror(w, parts[2]+"/"+parts[3], parts[4])
	case len(parts) == 5 && parts[0] == "files":
		r.file(w, req, parts[1]+"/"+parts[2], parts[3], parts[4])
	default:
		http.NotFound(w, req)
	}
}

func answer(w http.ResponseWriter, document any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document) // fails only if the client is gone
}

func (r *Registry) find(provider, version string) *release {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.releases[provider][version]
}

func (r *Registry) versions(w http.ResponseWriter, provider string) {
	type entry struct {
		Version   string              `json:"version"`
		Protocols []string            `json:"protocols"`
		Platforms []map[string]string `json:"platforms"`
	}
	r.mu.Lock()
	r.counts.Versions++
	var all []entry
	for version, rel := range r.releases[provider] {
		e := entry{version, []string{"5.0", "6.0"}, nil}
		for platform := range rel.archives {
			system, arch, _ := strings.Cut(platform, "_")
			e.Platforms = append(e.Platforms, map[string]string{"os": system, "arch": arch})
		}
		all = append(all, e)
	}
	r.mu.Unlock()
	if all == nil {
		http.Error(w, "no such provider", http.StatusNotFound)
		return
	}
	answer(w, map[string]any{"versions": all})
}

func (r *Registry) download(w http.ResponseWriter, provider, version, target string) {
	rel := r.find(provider, version)
	if rel == nil || rel.archives[target].sum == "" {
		http.Error(w, "no such package", http.StatusNotFound)
		return
	}
	_, name, _ := strings.Cut(provider, "/")
	system, arch, _ := strings.Cut(target, "_")
	files := r.http.URL + "/files/" + provider + "/" + version + "/"
	document := map[string]any{
		"protocols": []string{"5.0", "6.0"}, "os": system, "arch": arch,
		"filename": archiveName(name, version, target), "download_url": files + "archive-" + target, "shasum": rel.archives[target].sum,
		"shasums_url": files + "sums", "shasums_signature_url": files + "signature",
		"signing_keys": map[string]any{"gpg_public_keys": rel.keys},
	}
	if rel.reported != nil {
		document["packages"] = rel.reported
	}
	answer(w, document)
}

func (r *Registry) mirror(w http.ResponseWriter, provider, name string) {
	version, isVersion := strings.CutSuffix(name, ".json")
	if name == "index.json" {
		r.mu.Lock()
		r.counts.Versions++
		versions := map[string]any{}
		for v := range r.releases[provider] {
			versions[v] = map[string]any{}
		}
		r.mu.Unlock()
		answer(w, map[string]any{"versions": versions})
		return
	}
	rel := r.find(provider, version)
	if rel == nil || !isVersion {
		http.Error(w, "no such package", http.StatusNotFound)
		return
	}
	answer(w, map[string]any{"archives": map[string]any{platform(): map[string]any{
		"url": r.http.URL + "/files/" + provider + "/" + version + "/archive", "hashes": []string{"zh:" + hexSum(rel.archive)}}}})
}

func (r *Registry) file(w http.ResponseWriter, req *http.Request, provider, version, name string) {
	rel := r.find(provider, version)
	if rel == nil {
		http.Error(w, "no such release", http.StatusNotFound)
		return
	}
	switch name {
	case "sums":
		_, _ = w.Write(rel.sums)
	case "signature":
		_, _ = w.Write(rel.signature)
	default:
		target := platform()
		if _, other, named := strings.Cut(name, "-"); named {
			target = other
		}
		r.sendArchive(w, req, rel, rel.archives[target])
	}
}

func (r *Registry) sendArchive(w http.ResponseWriter, req *http.Request, rel *release, a archive) {
	data := a.data
	if rel.served != nil {
		data = rel.served
	}
	r.mu.Lock()
	r.counts.Archives++
	if a.path != "" {
		r.counts.Bytes += a.size
	}
	r.counts.Bytes += int64(len(data))
	gate := r.gate
	r.mu.Unlock()
	if a.path != "" {
		r.sendFile(w, req, a)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	half := len(data) / 2
	_, _ = w.Write(data[:half])
	if gate != nil {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		<-gate
	}
	_, _ = w.Write(data[half:])
}
