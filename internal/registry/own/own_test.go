// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package own

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/release"
	"github.com/yuba-dev/yuba/internal/registry/uploads"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

var (
	thing = layout.Provider{Namespace: "acme", Name: "thing"}
	one   = layout.ProviderVersion{Provider: thing, Version: "1.0.0"}
	linux = layout.Platform{OS: "linux", Arch: "amd64"}
)

// world is a store with a signing key.
type world struct {
	t      testing.TB
	dir    string
	bucket *failing
	signer *registrytest.Signer
	now    time.Time
	*Store
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), now: time.Now(), signer: registrytest.NewSigner(t, time.Now().Add(-time.Hour), 0)}
	plain, err := blob.OpenPlain(t.Context(), "file://"+w.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plain.Close() })
	w.bucket = &failing{Bucket: plain}
	w.restart()
	if _, err := w.AddKey(t.Context(), "acme", []byte(w.signer.Armor)); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) restart() {
	w.t.Helper()
	s, err := newStore(w.t.Context(), w.bucket, Options{Spool: w.t.TempDir(), Now: func() time.Time { return w.now }})
	if err != nil {
		w.t.Fatal(err)
	}
	w.Store = s
}

// files are a release, signed.
func (w *world) files(v layout.ProviderVersion, platforms ...string) map[string][]byte {
	w.t.Helper()
	files := map[string][]byte{}
	for _, platform := range platforms {
		p, err := layout.ParsePlatform(platform)
		if err != nil {
			w.t.Fatal(err)
		}
		files[v.Archive(p)] = registrytest.Zip(w.t, registrytest.Program(v.Name, v.Version+" for "+platform))
	}
	return w.sign(v, files, w.signer)
}

func (w *world) sign(v layout.ProviderVersion, files map[string][]byte, by *registrytest.Signer) map[string][]byte {
	w.t.Helper()
	delete(files, v.Sums())
	delete(files, v.Signature())
	files[v.Sums()] = []byte(registrytest.Sums(files))
	files[v.Signature()] = by.Sign(w.t, files[v.Sums()], w.now.Add(-time.Minute))
	return files
}

func packed(t testing.TB, files map[string][]byte) io.Reader {
	t.Helper()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := errors.Join(archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(files[name])), Typeflag: tar.TypeReg}),
			second(archive.Write(files[name]))); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func second(_ int, err error) error { return err }

func (w *world) publish(v layout.ProviderVersion, files map[string][]byte) (Published, bool, error) {
	return w.Publish(w.t.Context(), v, packed(w.t, files), "ci@example.com")
}

func (w *world) objects() (keys []string) {
	w.t.Helper()
	for info, err := range w.bucket.List(w.t.Context(), "") {
		if err != nil {
			w.t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

// failing is a bucket that fails when a test says so.
type failing struct {
	blob.Bucket
	fail   atomic.Pointer[func(key string) error]
	listed atomic.Pointer[func()]
}

func (b *failing) Create(ctx context.Context, key string, r io.Reader) error {
	if fail := b.fail.Load(); fail != nil {
		if err := (*fail)(key); err != nil {
			return err
		}
	}
	return b.Bucket.Create(ctx, key, r)
}

// listed is called after each list, with its result still to be used.
func (b *failing) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		for info, err := range b.Bucket.List(ctx, prefix) {
			if !yield(info, err) {
				return
			}
		}
		if after := b.listed.Swap(nil); after != nil {
			(*after)()
		}
	}
}

func TestPublishAndRead(t *testing.T) {
	w := newWorld(t)
	files := w.files(one, "linux_amd64", "darwin_arm64")
	files[Manifest] = []byte(`{"version": 1, "metadata": {"protocol_versions": ["6.0"]}}`)
	done, changed, err := w.publish(one, files)
	if err != nil || !changed || done.By != "ci@example.com" || done.Signer == "" {
		t.Fatalf("%+v, %v, %v", done, changed, err)
	}
	for range 2 {
		list, err := w.Versions(t.Context(), thing)
		if err != nil || len(list) != 1 || list[0].Version != "1.0.0" || len(list[0].Platforms) != 2 || !slices.Equal(list[0].Protocols, []string{"6.0"}) {
			t.Fatalf("%+v, %v", list, err)
		}
		r, err := w.Release(t.Context(), one)
		if err != nil || len(r.Keys) != 1 || r.Keys[0].ID != w.signer.ID() {
			t.Fatalf("%+v, %v", r, err)
		}
		data := files[one.Archive(linux)]
		h1, err := release.ContentHash(bytes.NewReader(data), int64(len(data)))
		if pkg := r.Packages[linux]; err != nil || !slices.Contains(pkg.Hashes, h1) || !slices.Contains(pkg.Hashes, "zh:"+pkg.SHA256) || pkg.Size != int64(len(data)) {
			t.Errorf("%+v, want %s: %v", pkg, h1, err)
		}
		for name, want := range files {
			if name == Manifest {
				continue
			}
			f, err := w.Open(t.Context(), one, name)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(f.Content); err != nil || !bytes.Equal(got, want) || f.Size != int64(len(want)) || f.Content.Close() != nil {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		}
		w.restart()
	}
	// The same again changes nothing.
	before := w.objects()
	if _, changed, err := w.publish(one, files); changed || err != nil {
		t.Errorf("the same again: %v, %v", changed, err)
	}
	want := []string{"providers/acme/signing-keys.json", one.Key(one.Sums()), one.Key(one.Signature()), one.Key(one.Archive(linux)),
		one.Key(one.Archive(layout.Platform{OS: "darwin", Arch: "arm64"})), one.OwnKey()}
	slices.Sort(want)
	if got := w.objects(); !slices.Equal(got, want) || !slices.Equal(before, want) {
		t.Errorf("the bucket has %q", got)
	}
}

func TestPublishedVersionsNeverChange(t *testing.T) {
	w := newWorld(t)
	if _, _, err := w.publish(one, w.files(one, "linux_amd64")); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.publish(one, w.files(one, "linux_amd64", "linux_arm64"))
	var conflict *ConflictError
	if !errors.As(err, &conflict) || !strings.Contains(err.Error(), "publish a new version") {
		t.Errorf("%v", err)
	}
	r, err := w.Release(t.Context(), one)
	if err != nil || len(r.Packages) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestBadUploads(t *testing.T) {
	archive := one.Archive(linux)
	for name, c := range map[string]struct {
		change func(w *world, files map[string][]byte)
		want   string
	}{
		"a wrong sum":           {func(_ *world, f map[string][]byte) { f[archive] = append(f[archive], 0) }, "has the SHA-256 sum"},
		"no sums":               {func(_ *world, f map[string][]byte) { delete(f, one.Sums()) }, "SHA256SUMS is missing"},
		"no signature":          {func(_ *world, f map[string][]byte) { delete(f, one.Signature()) }, "gpg --detach-sign"},
		"an empty signature":    {func(_ *world, f map[string][]byte) { f[one.Signature()] = nil }, "is not signed"},
		"a wrong signature":     {func(_ *world, f map[string][]byte) { f[one.Signature()] = []byte("nonsense") }, "signature of the list of checksums is wrong"},
		"a missing archive":     {func(w *world, f map[string][]byte) { delete(f, archive) }, "which is missing in the upload"},
		"an unlisted archive":   {func(w *world, f map[string][]byte) { f[one.Archive(layout.Platform{OS: "a", Arch: "b"})] = f[archive] }, "is not listed"},
		"another provider":      {func(_ *world, f map[string][]byte) { f["terraform-provider-other_1.0.0_linux_amd64.zip"] = nil }, "the upload has a file"},
		"another version":       {func(_ *world, f map[string][]byte) { f["terraform-provider-thing_1.0.1_linux_amd64.zip"] = nil }, "the upload has a file"},
		"a path":                {func(_ *world, f map[string][]byte) { f["../"+archive] = nil }, "the upload has a file"},
		"a bad manifest":        {func(_ *world, f map[string][]byte) { f[Manifest] = []byte("{}") }, "protocol_versions"},
		"a manifest of nothing": {func(_ *world, f map[string][]byte) { f[Manifest] = []byte("<") }, "is not JSON"},
		"another key": {func(w *world, f map[string][]byte) {
			w.sign(one, f, registrytest.NewSigner(w.t, time.Now().Add(-time.Hour), 0))
		}, "signed by a key that is not one of the signing keys"},
		"no zip": {func(w *world, f map[string][]byte) { f[archive] = []byte("x"); w.sign(one, f, w.signer) }, "not a zip archive"},
		"no program": {func(w *world, f map[string][]byte) {
			f[archive] = registrytest.Zip(w.t, map[string][]byte{"README": nil})
			w.sign(one, f, w.signer)
		}, "does not contain a program terraform-provider-thing_v"},
		"an escape": {func(w *world, f map[string][]byte) {
			f[archive] = registrytest.Zip(w.t, map[string][]byte{"../../evil": nil})
			w.sign(one, f, w.signer)
		}, "does not stay in the directory"},
		"nothing": {func(_ *world, f map[string][]byte) { clear(f) }, "SHA256SUMS is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			files := w.files(one, "linux_amd64")
			c.change(w, files)
			_, _, err := w.publish(one, files)
			var invalid *InvalidError
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "publish acme/thing@1.0.0: ") {
				t.Errorf("%v", err)
			}
			if got := w.objects(); len(got) != 1 {
				t.Errorf("the bucket has %q", got)
			}
			if entries, err := os.ReadDir(w.options.Spool); err != nil || len(entries) > 0 {
				t.Errorf("remains: %v, %v", entries, err)
			}
		})
	}
}

func TestKeysThatMayNotSign(t *testing.T) {
	w := newWorld(t)
	soon := registrytest.NewSigner(t, w.now.Add(-time.Hour), 2*time.Hour)
	if info, err := w.AddKey(t.Context(), "acme", []byte(soon.Armor)); err != nil || info.Expires.IsZero() {
		t.Fatalf("%+v, %v", info, err)
	}
	two := layout.ProviderVersion{Provider: thing, Version: "2.0.0"}
	none := layout.ProviderVersion{Provider: layout.Provider{Namespace: "other", Name: "thing"}, Version: "1.0.0"}
	others := w.files(none, "linux_amd64")
	files, revoked := w.files(two, "linux_amd64"), w.files(one, "linux_amd64")
	w.sign(two, files, soon)
	w.now = w.now.Add(2 * time.Hour)
	if _, _, err := w.publish(two, files); err == nil || !strings.Contains(err.Error(), "signed by an expired key") {
		t.Errorf("expired: %v", err)
	}
	expired := registrytest.NewSigner(t, w.now.Add(-3*time.Hour), time.Hour)
	if _, err := w.AddKey(t.Context(), "acme", []byte(expired.Armor)); err == nil || !strings.Contains(err.Error(), "it expired at") {
		t.Errorf("an expired key was added: %v", err)
	}
	if _, err := w.AddKey(t.Context(), "acme", []byte(w.signer.Revoke(t))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.publish(one, revoked); err == nil || !strings.Contains(err.Error(), "signed by a revoked key") {
		t.Errorf("revoked: %v", err)
	}
	if _, err := w.AddKey(t.Context(), "acme", []byte(w.signer.Private(t))); err == nil || !strings.Contains(err.Error(), "PRIVATE key") {
		t.Errorf("a private key was added: %v", err)
	}
	if _, err := w.AddKey(t.Context(), "acme", []byte("nonsense")); err == nil || !strings.Contains(err.Error(), "not an armoured OpenPGP public key") {
		t.Errorf("nonsense was added: %v", err)
	}
	list, err := w.Keys(t.Context(), "acme")
	if err != nil || len(list) != 2 || !strings.Contains(list[0].Problem+list[1].Problem, "it is revoked") {
		t.Errorf("%+v, %v", list, err)
	}
	if _, _, err := w.publish(none, others); err == nil || !strings.Contains(err.Error(), "yuba registry keys add other KEY.asc") {
		t.Errorf("without keys: %v", err)
	}
}

func TestRemovingAKeyHidesNothing(t *testing.T) {
	w := newWorld(t)
	if _, _, err := w.publish(one, w.files(one, "linux_amd64")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.RemoveKey(t.Context(), "acme", "0123456789"); !errors.Is(err, offer.ErrNone) {
		t.Errorf("%v", err)
	}
	if info, err := w.RemoveKey(t.Context(), "acme", w.signer.ID()); err != nil || info.ID != w.signer.ID() {
		t.Fatalf("%+v, %v", info, err)
	}
	w.restart()
	if r, err := w.Release(t.Context(), one); err != nil || len(r.Keys) != 1 || r.Unverified != "" {
		t.Errorf("%+v, %v", r, err)
	}
	two := layout.ProviderVersion{Provider: thing, Version: "2.0.0"}
	if _, _, err := w.publish(two, w.files(two, "linux_amd64")); err == nil {
		t.Error("a removed key was accepted")
	}
}

func TestAFullStoreInTheMiddleOfAnUpload(t *testing.T) {
	w := newWorld(t)
	files := w.files(one, "linux_amd64", "darwin_arm64")
	for _, part := range []string{one.OwnKey(), one.Signature(), one.Sums() + "$", one.Archive(linux)} {
		full := func(key string) error {
			if strings.Contains(key+"$", part) {
				return fmt.Errorf("write: %w", syscall.ENOSPC)
			}
			return nil
		}
		w.bucket.fail.Store(&full)
		_, _, err := w.publish(one, files)
		var store *offer.StoreError
		if !errors.As(err, &store) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", part, err)
		}
		w.bucket.fail.Store(nil)
		if got := w.objects(); len(got) != 1 {
			t.Errorf("%s: the bucket has %q", part, got)
		}
		if _, err := w.Versions(t.Context(), thing); !errors.Is(err, offer.ErrNone) {
			t.Errorf("%s: %v", part, err)
		}
	}
	if _, changed, err := w.publish(one, files); err != nil || !changed {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAClientThatGoesAway(t *testing.T) {
	w := newWorld(t)
	all, err := io.ReadAll(packed(t, w.files(one, "linux_amd64")))
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{0, 100, 600, len(all) / 2} {
		_, _, err := w.Publish(t.Context(), one, io.MultiReader(bytes.NewReader(all[:length]), gone{}), "ci")
		if err == nil {
			t.Errorf("%d bytes were enough", length)
		}
		if got := w.objects(); len(got) != 1 {
			t.Errorf("the bucket has %q", got)
		}
	}
	// A process that dies leaves a record that says so, and the next upload takes over.
	if _, err := w.reserve(t.Context(), one, &storedRecord{Pending: true, Sums: "x", Published: w.now}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Publish(t.Context(), one, bytes.NewReader(all), "ci"); err == nil || !strings.Contains(err.Error(), "in progress") {
		t.Errorf("%v", err)
	}
	w.now = w.now.Add(abandonedAfter)
	if _, _, err := w.Publish(t.Context(), one, bytes.NewReader(all), "ci"); err != nil {
		t.Error(err)
	}
}

func TestUploadsAreLimited(t *testing.T) {
	w := newWorld(t)
	files := w.files(one, "linux_amd64")
	w.Store.uploads = uploads.New(uploads.Limits{Places: 1, Patience: time.Millisecond})
	r, pipe := io.Pipe()
	first := make(chan error)
	go func() {
		_, _, err := w.Publish(t.Context(), one, r, "eva")
		first <- err
	}()
	if _, err := pipe.Write([]byte("x")); err != nil { // it has its place now
		t.Fatal(err)
	}
	var busy *uploads.BusyError
	if _, _, err := w.publish(one, files); !errors.As(err, &busy) {
		t.Error(err)
	}
	pipe.Close()
	if err := <-first; err == nil {
		t.Error("nothing was published")
	}
	if _, _, err := w.publish(one, files); err != nil {
		t.Error(err)
	}
	w.Store.uploads = uploads.New(uploads.Limits{Room: 100})
	two := layout.ProviderVersion{Provider: thing, Version: "2.0.0"}
	if _, _, err := w.publish(two, w.files(two, "linux_amd64")); !errors.As(err, &busy) {
		t.Error(err)
	}
}

type gone struct{}

func (gone) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestManyPublishTheSame(t *testing.T) {
	w := newWorld(t)
	files := w.files(one, "linux_amd64")
	var all sync.WaitGroup
	var changes atomic.Int32
	for range 10 {
		all.Go(func() {
			_, changed, err := w.Publish(t.Context(), one, packed(t, files), "ci")
			if err != nil {
				t.Error(err)
			}
			if changed {
				changes.Add(1)
			}
		})
	}
	all.Wait()
	if changes.Load() != 1 {
		t.Errorf("%d of them changed something", changes.Load())
	}
}

func TestWhatBoringRegistryPublishedIsServed(t *testing.T) {
	w := newWorld(t)
	for name, data := range w.files(one, "linux_amd64", "darwin_arm64") {
		path := filepath.Join(w.dir, one.Key(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := w.Release(t.Context(), one) // found although nobody told the store
	if err != nil || len(r.Packages) != 2 || len(r.Keys) != 1 || r.Packages[linux].Size == 0 || r.Unverified != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, changed, err := w.publish(one, w.files(one, "linux_amd64")); changed || err == nil {
		t.Errorf("other files: %v", err)
	}
}

func TestUnknownNames(t *testing.T) {
	w := newWorld(t)
	if _, _, err := w.publish(one, w.files(one, "linux_amd64")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Versions(t.Context(), layout.Provider{Namespace: "acme", Name: "x"}); !errors.Is(err, offer.ErrNone) {
		t.Errorf("%v", err)
	}
	if _, err := w.Release(t.Context(), layout.ProviderVersion{Provider: thing, Version: "9.0.0"}); !errors.Is(err, offer.ErrNone) || !strings.Contains(err.Error(), "there are 1.0.0") {
		t.Errorf("%v", err)
	}
	if _, err := w.Open(t.Context(), one, one.Archive(layout.Platform{OS: "plan9", Arch: "arm"})); !errors.Is(err, offer.ErrNone) || !strings.Contains(err.Error(), "linux_amd64") {
		t.Errorf("%v", err)
	}
	for _, namespace := range []string{"", "A", "a/b", "..", "ü"} {
		if _, err := w.AddKey(t.Context(), namespace, []byte(w.signer.Armor)); err == nil {
			t.Errorf("the namespace %q was accepted", namespace)
		}
	}
}
