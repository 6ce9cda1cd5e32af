// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

func TestArchivesOfOtherPrograms(t *testing.T) {
	s := newShelf(t)
	s.mustPublish("acme/vpc/aws@1.0.0", ``)
	s.write("acme/vpc/aws@1.1.0", `variable "a" { default = 1 }`)
	s.write("acme/new/aws@0.1.0", ``)
	// A new module appears at once; a new version when it is asked for.
	if got := versions(t, s.Catalog, "acme/new/aws"); got != "0.1.0" {
		t.Error(got)
	}
	if got := versions(t, s.Catalog, "acme/vpc/aws"); got != "1.0.0" {
		t.Error(got)
	}
	v := version(t, "acme/vpc/aws@1.1.0")
	r, err := s.Release(t.Context(), v)
	if err != nil || r.Digest != "" || r.Size == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	// It is the base of the next release, and has a digest once it was read.
	if _, _, err := s.publish("acme/vpc/aws@1.1.1", ``); err == nil || !strings.Contains(err.Error(), `the input "a" was removed`) {
		t.Error(err)
	}
	if r, err := s.Release(t.Context(), v); err != nil || r.Digest == "" {
		t.Errorf("%+v, %v", r, err)
	}
	// Unknown names are listed again only after some time.
	if got := versions(t, s.Catalog, "acme/late/aws"); got != "none" {
		t.Error(got)
	}
	s.write("acme/late/aws@1.0.0", ``)
	if got := versions(t, s.Catalog, "acme/late/aws"); got != "none" {
		t.Error(got)
	}
	s.now.Add(11)
	if got := versions(t, s.Catalog, "acme/late/aws"); got != "1.0.0" {
		t.Error(got)
	}
	// Archives that are not modules have a problem, and are no base.
	s.write("acme/late/aws@1.1.0", "{{{")
	s.now.Add(11)
	r, err = s.Describe(t.Context(), version(t, "acme/late/aws@1.1.0"))
	if err != nil || r.Interface != nil || !strings.Contains(r.Problem, "main.tf:1:1") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, changes, err := s.publish("acme/late/aws@1.1.1", ``); err != nil || changes.Uncompared == "" {
		t.Errorf("%+v, %v", changes, err)
	}
	// An archive that another program replaced is not the one that was published.
	s.write("acme/vpc/aws@1.0.0", "# other bytes\n")
	c := s.another()
	if r, err := c.Release(t.Context(), version(t, "acme/vpc/aws@1.0.0")); err != nil || r.Digest != "" || r.By != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAnArchiveOfTheSameSizeThatAnotherProgramReplaced(t *testing.T) {
	s := newShelf(t)
	first := s.mustPublish("acme/vpc/aws@1.0.0", "# 1\n")
	v := version(t, "acme/vpc/aws@1.0.0")
	// File systems count time in milliseconds, in which a test does everything.
	later := time.Now()
	replace := func(text string) {
		t.Helper()
		s.write(v.String(), text)
		later = later.Add(time.Minute)
		if err := os.Chtimes(filepath.Join(s.dir, v.Key()), later, later); err != nil {
			t.Fatal(err)
		}
	}
	replace("# 1\n") // the same bytes
	c := s.another()
	if r, err := c.Release(t.Context(), v); err != nil || r.Digest != "" || r.By != "eva" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := c.Describe(t.Context(), v); err != nil || r.Digest != first.Digest || r.By != "eva" {
		t.Errorf("%+v, %v", r, err)
	}
	replace("# 2\n")
	c = s.another()
	if r, err := c.Describe(t.Context(), v); err != nil || r.Digest == first.Digest || r.By != "" || r.Size != first.Size {
		t.Errorf("%+v, %v", r, err)
	}
	if _, _, err := c.Publish(t.Context(), v, bytes.NewReader(packed(t, "# 1\n")), catalog.PublishOptions{}); err == nil {
		t.Error("the replaced archive counts as the published one")
	}
}

func TestRunRefreshes(t *testing.T) {
	s := newShelf(t)
	s.mustPublish("acme/gone/aws@1.0.0", ``)
	c, err := catalog.Open(t.Context(), s.bucket, catalog.Options{Refresh: 10 * time.Millisecond, Spool: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	s.write("acme/new/aws@1.0.0", ``)
	if err := s.bucket.Delete(ctx, version(t, "acme/gone/aws@1.0.0").Key()); err != nil {
		t.Fatal(err)
	}
	want := []layout.Module{{Namespace: "acme", Name: "new", System: "aws"}}
	for deadline := time.Now().Add(time.Minute); !slices.Equal(c.Modules(ctx), want); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the modules are %v, want %v", c.Modules(ctx), want)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestMemoryOfLargeArchives checks that publishing does not keep an archive in memory.
func TestMemoryOfLargeArchives(t *testing.T) {
	const size = 96 << 20
	s := newShelf(t)
	r, w := io.Pipe()
	go func() {
		gz, err := gzip.NewWriterLevel(w, gzip.NoCompression)
		if err != nil {
			w.CloseWithError(err)
			return
		}
		files := tar.NewWriter(gz)
		noise := rand.NewChaCha8([32]byte{})
		err = errors.Join(
			files.WriteHeader(&tar.Header{Name: "main.tf", Typeflag: tar.TypeReg, Mode: 0o644}),
			files.WriteHeader(&tar.Header{Name: "large.bin", Typeflag: tar.TypeReg, Mode: 0o644, Size: size}),
			func() error { _, err := io.CopyN(files, noise, size); return err }(), files.Close(), gz.Close())
		w.CloseWithError(err)
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	release, _, err := s.Publish(t.Context(), version(t, "acme/large/aws@1.0.0"), r, catalog.PublishOptions{})
	runtime.ReadMemStats(&after)
	if err != nil || release.Size < size {
		t.Fatalf("%+v, %v", release, err)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8<<20 {
		t.Errorf("publishing %d MiB allocated %d MiB", size>>20, allocated>>20)
	} else {
		t.Logf("publishing %d MiB allocated %d KiB", size>>20, allocated>>10)
	}
}

// Servers list the bucket once a minute, and others publish meanwhile.
func TestAPatchIsComparedWithWhatAnotherServerHasJustPublished(t *testing.T) {
	s := newShelf(t)
	s.mustPublish("acme/vpc/aws@1.0.0", ``)
	other := s.another()
	s.mustPublish("acme/vpc/aws@1.1.0", `variable "a" { default = 1 }`)
	_, _, err := other.Publish(t.Context(), version(t, "acme/vpc/aws@1.1.1"), bytes.NewReader(packed(t, "")), catalog.PublishOptions{})
	var incompatible *catalog.IncompatibleError
	if !errors.As(err, &incompatible) || incompatible.Changes.Base != "1.1.0" || !strings.Contains(err.Error(), `the input "a" was removed`) {
		t.Error(err)
	}
}
