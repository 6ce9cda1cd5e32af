// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
)

func TestWhatIsUnusedForLongestIsEvicted(t *testing.T) {
	size := int64(len(program(t, "1.0.0")))
	w := newWorld(t, func(o *Options) { o.Limit = 4*size + size/2 })
	versions := []string{"1.0.0", "2.0.0", "3.0.0", "4.0.0", "5.0.0"}
	for _, version := range versions {
		w.publish(version)
		if _, err := w.read(t.Context(), w.thing(version), linux); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Hour)
	}
	// The oldest is used again, and the second oldest is being read.
	if _, err := w.read(t.Context(), w.thing("1.0.0"), linux); err != nil {
		t.Fatal(err)
	}
	reading, err := w.Open(t.Context(), w.thing("2.0.0"), w.thing("2.0.0").Archive(linux))
	if err != nil {
		t.Fatal(err)
	}
	w.uses.last[w.thing("2.0.0").Key(w.thing("2.0.0").Archive(linux))] = time.Time{}
	evicted, err := w.Evict(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{w.thing("3.0.0").Key(w.thing("3.0.0").Archive(linux))}
	if !slices.Equal(evicted, want) {
		t.Errorf("evicted %q, want %q", evicted, want)
	}
	if data, err := io.ReadAll(reading.Content); err != nil || !bytes.Equal(data, program(t, "2.0.0")) || reading.Content.Close() != nil {
		t.Errorf("what was being read: %v", err)
	}
	// What was evicted is downloaded again, and its release is not.
	before := w.origin.Requests("/sums")
	if data, err := w.read(t.Context(), w.thing("3.0.0"), linux); err != nil || !bytes.Equal(data, program(t, "3.0.0")) {
		t.Errorf("%v", err)
	}
	if n := w.origin.Requests("/sums") - before; n != 0 {
		t.Errorf("%d requests for sums", n)
	}
}

func TestLastUsesOutliveAProcess(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	if _, err := w.read(t.Context(), w.thing("1.0.0"), linux); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	at := w.now()
	w.restart()
	if err := w.loadUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	last, _ := w.uses.all()
	if got := last[w.thing("1.0.0").Key(w.thing("1.0.0").Archive(linux))]; !got.Equal(at) {
		t.Errorf("%s, want %s", got, at)
	}
}

func TestRunEvictsAfterADownload(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Limit = 1 })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	w.publish("1.0.0")
	if _, err := w.read(t.Context(), w.thing("1.0.0"), linux); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for zips(w) > 0 && time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil || zips(w) > 0 {
		t.Errorf("%v, %d archives", err, zips(w))
	}
}

func zips(w *world) (n int) {
	for _, key := range w.objects("mirror/") {
		if strings.HasSuffix(key, ".zip") {
			n++
		}
	}
	return n
}

// boring writes what boring-registry's pull-through mirror leaves in a bucket.
func (w *world) boring(version string, archives map[layout.Platform][]byte) {
	w.t.Helper()
	w.publish(version)
	if _, err := w.Release(w.t.Context(), w.thing(version)); err != nil {
		w.t.Fatal(err)
	}
	for platform, data := range archives {
		if err := os.WriteFile(filepath.Join(w.dir, w.thing(version).Key(w.thing(version).Archive(platform))), data, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "yuba")); err != nil {
		w.t.Fatal(err)
	}
	w.restart()
}

func TestABucketOfBoringRegistryIsServed(t *testing.T) {
	w := newWorld(t)
	v := w.thing("1.0.0")
	w.boring("1.0.0", map[layout.Platform][]byte{linux: program(t, "1.0.0")})
	w.origin.Break("/", faulttest.Unreachable)
	i, err := w.Index(t.Context(), v.Provider)
	if err != nil || len(i.Versions) != 1 || !slices.Equal(i.Versions[0].Platforms, []layout.Platform{linux}) {
		t.Fatalf("%+v, %v", i, err)
	}
	if data, err := w.read(t.Context(), v, linux); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
		t.Errorf("%v", err)
	}
	r, err := w.Release(t.Context(), v)
	if err != nil || r.Packages[linux].Hashes[0] != contentHash(t, program(t, "1.0.0")) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAWrongArchiveOfBoringRegistryIsNotServed(t *testing.T) {
	w := newWorld(t)
	v := w.thing("1.0.0")
	w.boring("1.0.0", map[layout.Platform][]byte{linux: []byte("half of it")})
	w.origin.Break("/", faulttest.Unreachable)
	if data, err := w.read(t.Context(), v, linux); err == nil {
		t.Errorf("it served %q", data)
	}
	w.origin.Break("/", nil)
	if data, err := w.read(t.Context(), v, linux); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
		t.Errorf("from the origin: %v", err)
	}
}

func TestTwoServersShareABucket(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	v := w.thing("1.0.0")
	other := world{t: t, origin: w.origin, bucket: w.bucket, dir: w.dir, options: w.options, clock: w.clock}
	other.options.Spool = t.TempDir()
	other.restart()
	for _, server := range []*world{w, &other} {
		if _, err := server.Release(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	for _, server := range []*world{w, &other} {
		if data, err := server.read(t.Context(), v, linux); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
			t.Errorf("%v", err)
		}
	}
	if n := w.origin.Counts().Archives; n != 1 {
		t.Errorf("%d downloads", n)
	}
}

func TestAWarmMirrorAsksTheBucketForTheArchiveOnly(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	v := w.thing("1.0.0")
	initialise := func() int64 {
		before := w.bucket.requests.Load()
		if _, err := w.Versions(t.Context(), v.Provider); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Release(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if _, err := w.read(t.Context(), v, linux); err != nil {
			t.Fatal(err)
		}
		return w.bucket.requests.Load() - before
	}
	t.Logf("requests to the bucket: %d for the first init of all", initialise())
	if n := initialise(); n != 1 {
		t.Errorf("%d requests to the bucket for a warm init", n)
	}
	w.restart()
	if n := initialise(); n != 5 {
		t.Errorf("%d requests to the bucket for an init after a restart", n)
	}
}
