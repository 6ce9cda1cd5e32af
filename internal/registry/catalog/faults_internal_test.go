// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/uploads"
)

// faulty is a bucket whose requests can be made to fail, or to wait.
type faulty struct {
	*blob.Plain
	before func(ctx context.Context, verb, key string) error
}

func (b *faulty) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	if err := b.fault(ctx, "get", key); err != nil {
		return nil, err
	}
	return b.Plain.Get(ctx, key, limit)
}

func (b *faulty) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := b.fault(ctx, "open", key); err != nil {
		return nil, err
	}
	return b.Plain.Open(ctx, key)
}

func (b *faulty) Create(ctx context.Context, key string, r io.Reader) error {
	if err := b.fault(ctx, "create", key); err != nil {
		// As a store that becomes full after a while.
		_, _ = io.CopyN(io.Discard, r, 10)
		return fmt.Errorf("create %s: %w", key, err)
	}
	return b.Plain.Create(ctx, key, r)
}

func (b *faulty) fault(ctx context.Context, verb, key string) error {
	if b.before == nil {
		return nil
	}
	return b.before(ctx, verb, key)
}

var v1 = layout.ModuleVersion{Module: layout.Module{Namespace: "acme", Name: "vpc", System: "aws"}, Version: "1.0.0"}

func newBucket(t *testing.T) *faulty {
	t.Helper()
	bucket, err := blob.OpenPlain(t.Context(), "file://"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bucket.Close() })
	return &faulty{Plain: bucket}
}

func openOn(t *testing.T, b blob.Bucket, opts Options) *Catalog {
	t.Helper()
	if opts.Spool == "" {
		opts.Spool = t.TempDir()
	}
	c, err := open(t.Context(), b, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func archiveOf(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := archive.PackInline(map[string]string{"main.tf": text}, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func publish(t *testing.T, c *Catalog, v layout.ModuleVersion, text string) error {
	t.Helper()
	_, _, err := c.Publish(t.Context(), v, bytes.NewReader(archiveOf(t, text)), PublishOptions{By: "eva", From: &Origin{Repository: "https://git.example.com/vpc", Tag: "v1.0.0"}})
	return err
}

// wantProvenance checks who published v1 as the bucket has it, and as a catalog knows it.
func wantProvenance(t *testing.T, b *faulty, c *Catalog) {
	t.Helper()
	b.before = nil
	for name, c := range map[string]*Catalog{"this server": c, "another one": openOn(t, b, Options{})} {
		r, err := c.Release(t.Context(), v1)
		if err != nil || r.By != "eva" || r.From == nil || r.From.Tag != "v1.0.0" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestReadingAnArchiveKeepsWhoPublishedItMeanwhile(t *testing.T) {
	b := newBucket(t)
	c := openOn(t, b, Options{})
	if err := publish(t, c, v1, ""); err != nil {
		t.Fatal(err)
	}
	text, err := b.Get(t.Context(), v1.OwnKey(), maxSidecar)
	if err != nil {
		t.Fatal(err)
	}
	// Another server sees the archive before its publisher has recorded it, and reads it.
	if err := b.Delete(t.Context(), v1.OwnKey()); err != nil {
		t.Fatal(err)
	}
	other := openOn(t, b, Options{})
	b.before = func(ctx context.Context, verb, key string) error {
		if verb == "open" && key == v1.Key() {
			return b.Put(ctx, v1.OwnKey(), bytes.NewReader(text))
		}
		return nil
	}
	if r, err := other.Describe(t.Context(), v1); err != nil || r.By != "eva" {
		t.Errorf("%+v, %v", r, err)
	}
	wantProvenance(t, b, other)
}

func TestPublishingAgainWhileNothingCanBeReadKeepsWhoPublishedFirst(t *testing.T) {
	b := newBucket(t)
	if err := publish(t, openOn(t, b, Options{}), v1, ""); err != nil {
		t.Fatal(err)
	}
	c := openOn(t, b, Options{})
	down := errors.New("the bucket is down")
	b.before = func(_ context.Context, verb, key string) error {
		if verb == "get" && key == v1.OwnKey() {
			return down
		}
		return nil
	}
	if _, _, err := c.Publish(t.Context(), v1, bytes.NewReader(archiveOf(t, "")), PublishOptions{By: "ben"}); !errors.Is(err, down) {
		t.Error(err)
	}
	wantProvenance(t, b, c)
}

func TestLearningEnds(t *testing.T) {
	b := newBucket(t)
	if err := publish(t, openOn(t, b, Options{}), v1, ""); err != nil {
		t.Fatal(err)
	}
	c := openOn(t, b, Options{})
	c.learning = 10 * time.Millisecond
	hang := func(ctx context.Context, verb, key string) error {
		if verb == "get" && key == v1.OwnKey() {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	b.before = hang
	if r, err := c.Versions(t.Context(), v1.Module); err != nil || len(r) != 1 || r[0].By != "" {
		t.Errorf("%+v, %v", r, err)
	}
	// Who does not wait as long is not held up by others who learn.
	c.learning = time.Minute
	waiting := make(chan struct{})
	b.before = func(ctx context.Context, verb, key string) error {
		close(waiting)
		return hang(ctx, verb, key)
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-waiting; leave() }()
	if r, err := c.Versions(ctx, v1.Module); err != nil || len(r) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAStoreThatBecomesFullInTheMiddle(t *testing.T) {
	b := newBucket(t)
	spool := t.TempDir()
	c := openOn(t, b, Options{Spool: spool})
	b.before = func(_ context.Context, verb, key string) error {
		if verb == "create" && key == v1.Key() {
			return syscall.ENOSPC
		}
		return nil
	}
	if err := publish(t, c, v1, ""); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "publish acme/vpc/aws@1.0.0") {
		t.Error(err)
	}
	if _, err := c.Release(t.Context(), v1); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if left, err := os.ReadDir(spool); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	b.before = nil
	if err := publish(t, c, v1, ""); err != nil {
		t.Error(err)
	}
}

func TestUploadsAreLimited(t *testing.T) {
	b := newBucket(t)
	c := openOn(t, b, Options{Uploads: uploads.Limits{Places: 1, Patience: time.Millisecond}})
	r, w := io.Pipe()
	first := make(chan error)
	go func() {
		_, _, err := c.Publish(t.Context(), v1, r, PublishOptions{By: "eva"})
		first <- err
	}()
	if _, err := w.Write([]byte{0x1f}); err != nil { // it has its place now
		t.Fatal(err)
	}
	v2 := layout.ModuleVersion{Module: v1.Module, Version: "2.0.0"}
	var busy *uploads.BusyError
	if err := publish(t, c, v2, ""); !errors.As(err, &busy) {
		t.Error(err)
	}
	w.CloseWithError(io.ErrUnexpectedEOF) // as the body of a client that goes away
	var refused *inspect.Error
	if err := <-first; !errors.As(err, &refused) || !strings.Contains(err.Error(), "the upload ended early") {
		t.Error(err)
	}
	if err := publish(t, c, v2, ""); err != nil {
		t.Error(err)
	}
}

func TestArchivesAreReadAFewAtATime(t *testing.T) {
	b := newBucket(t)
	c := openOn(t, b, Options{Uploads: uploads.Limits{Readings: 1}})
	end, err := c.uploads.Reading(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, _, err = c.Publish(ctx, v1, bytes.NewReader(archiveOf(t, "")), PublishOptions{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	end()
	if err := publish(t, c, v1, ""); err != nil {
		t.Error(err)
	}
}

func TestRemainsOfAnEarlierProcessAreRemoved(t *testing.T) {
	spool := t.TempDir()
	if err := os.WriteFile(filepath.Join(spool, spooled+"123"), []byte("half an archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	openOn(t, newBucket(t), Options{Spool: spool})
	if left, err := os.ReadDir(spool); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := Open(t.Context(), newBucket(t).Plain, Options{}); err == nil {
		t.Error("it would spool to the system's directory")
	}
}
