// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"io"
	"iter"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/release"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

var (
	linux  = layout.Platform{OS: "linux", Arch: "amd64"}
	darwin = layout.Platform{OS: "darwin", Arch: "arm64"}
)

// world is an origin and a mirror of it.
type world struct {
	t       testing.TB
	origin  *registrytest.Registry
	bucket  *watched
	dir     string
	options Options
	*Mirror

	mu    sync.Mutex
	clock time.Time
}

func newWorld(t testing.TB, change ...func(*Options)) *world {
	t.Helper()
	w := &world{t: t, origin: registrytest.New(t), dir: t.TempDir(), clock: time.Now()}
	pool := x509.NewCertPool()
	pem, err := os.ReadFile(w.origin.CAFile(t.TempDir()))
	if err != nil || !pool.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	w.options = Options{Roots: pool, Spool: t.TempDir(), Allow: []string{w.origin.Host() + "/*/*"}, Now: w.now}
	for _, c := range change {
		c(&w.options)
	}
	plain, err := blob.OpenPlain(t.Context(), "file://"+w.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plain.Close() })
	w.bucket = &watched{store: plain}
	w.restart()
	return w
}

// restart forgets what is in memory.
func (w *world) restart() {
	w.t.Helper()
	m, err := newMirror(w.bucket, w.options)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Mirror = m
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
}

func (w *world) provider(name string) layout.Provider {
	w.t.Helper()
	p, err := layout.ParseProvider(w.origin.Source(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) thing(version string) layout.ProviderVersion {
	return layout.ProviderVersion{Provider: w.provider("acme/thing"), Version: version}
}

func program(t testing.TB, version string) []byte {
	return registrytest.Zip(t, registrytest.Program("thing", version))
}

// publish publishes a release for two platforms.
func (w *world) publish(version string, change ...func(*registrytest.Release)) {
	w.t.Helper()
	of := registrytest.Release{Archives: map[string][]byte{linux.String(): program(w.t, version), darwin.String(): program(w.t, version+"-darwin")}}
	for _, c := range change {
		c(&of)
	}
	w.origin.PublishRelease("acme/thing", version, of)
}

// read opens an archive and returns its content.
func (w *world) read(ctx context.Context, v layout.ProviderVersion, p layout.Platform) ([]byte, error) {
	f, err := w.Open(ctx, v, v.Archive(p))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f.Content)
	if err != nil {
		w.t.Error(err)
	}
	if err := f.Content.Close(); err != nil {
		w.t.Error(err)
	}
	if int64(len(data)) != f.Size || f.Digest != "sha256:"+hexSum(data) {
		w.t.Errorf("it says %d bytes, %s", f.Size, f.Digest)
	}
	return data, nil
}

// keys are those of all objects in the bucket.
func (w *world) objects(prefix string) (keys []string) {
	w.t.Helper()
	for info, err := range w.bucket.List(w.t.Context(), prefix) {
		if err != nil {
			w.t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func contentHash(t testing.TB, data []byte) string {
	t.Helper()
	h1, err := release.ContentHash(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return h1
}

// watched is a bucket that counts requests, and refuses to store what a test says.
type watched struct {
	store
	requests atomic.Int64
	full     atomic.Pointer[func(key string) error]
}

func (b *watched) Put(ctx context.Context, key string, r io.Reader) error {
	b.requests.Add(1)
	if full := b.full.Load(); full != nil {
		if err := (*full)(key); err != nil {
			return err
		}
	}
	return b.store.Put(ctx, key, r)
}

func (b *watched) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	b.requests.Add(1)
	return b.store.Open(ctx, key)
}

func (b *watched) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	b.requests.Add(1)
	return b.store.Get(ctx, key, limit)
}

func (b *watched) Stat(ctx context.Context, key string) (blob.Info, error) {
	b.requests.Add(1)
	return b.store.Stat(ctx, key)
}

func (b *watched) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	b.requests.Add(1)
	return b.store.List(ctx, prefix)
}

type (
	writer  = http.ResponseWriter
	request = http.Request
)
