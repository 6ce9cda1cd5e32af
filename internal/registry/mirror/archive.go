// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/release"
)

// archive opens the archive of a platform, after downloading and verifying it if the bucket does not
// have it yet.
func (m *Mirror) archive(ctx context.Context, v layout.ProviderVersion, p layout.Platform) (offer.File, error) {
	mistrusted := false
	for range 3 { // it may be evicted between being stored and opened
		r, err := m.record(ctx, v)
		if err != nil {
			return offer.File{}, err
		}
		if _, ok := r.Packages[p]; !ok {
			missing := &offer.NotFoundError{What: fmt.Sprintf("%s for %s", v, p)}
			for _, known := range r.Platforms() {
				missing.Known = append(missing.Known, known.String())
			}
			return offer.File{}, missing
		}
		if r.stored[p] {
			a, err := m.openHeld(ctx, r, p)
			var wrong *wrongError
			mistrusted = errors.As(err, &wrong)
			if mistrusted {
				m.log.Warn("an archive in the bucket was changed, and is not served", "archive", v.Key(v.Archive(p)), "error", err)
			} else if !errors.Is(err, blob.ErrNotFound) {
				return a, err
			}
		}
		err = m.flights.Do(ctx, "archive "+v.Key(v.Archive(p)), func(ctx context.Context) error { return m.provide(ctx, r, p, mistrusted) })
		if err != nil {
			return offer.File{}, err
		}
	}
	return offer.File{}, fmt.Errorf("open %s for %s: it is removed from the bucket as often as it is stored; the mirror's size limit may be too small for it", v, p)
}

// openHeld opens an archive in the bucket, checked, and holds it until it is closed.
func (m *Mirror) openHeld(ctx context.Context, r *record, p layout.Platform) (offer.File, error) {
	key, pkg := r.Key(r.Archive(p)), r.Packages[p]
	if !m.uses.hold(key, m.now()) {
		return offer.File{}, blob.ErrNotFound // it is being evicted
	}
	content, err := m.openChecked(ctx, r, p)
	if err != nil {
		m.uses.release(key)
		return offer.File{}, err
	}
	held := &held{ReadCloser: content, release: func() { m.uses.release(key) }}
	f := offer.File{Content: held, Size: pkg.Size, Digest: "sha256:" + pkg.Hash("zh:"), Modified: r.Verified}
	if seeker, ok := content.(io.ReadSeeker); ok {
		f.Content = heldSeeker{held, seeker}
	}
	return f, nil
}

// held is an open archive that is not evicted.
type held struct {
	io.ReadCloser
	release func()
}

func (h *held) Close() error {
	defer h.release()
	return h.ReadCloser.Close()
}

type heldSeeker struct {
	*held
	io.Seeker
}

// provide makes an archive be in the bucket, verified, and the record say so. A mistrusted archive is
// one that the record calls right, but is not.
func (m *Mirror) provide(ctx context.Context, known *record, p layout.Platform, mistrusted bool) error {
	v := known.ProviderVersion
	key := v.Key(v.Archive(p))
	r, err := m.load(ctx, v) // another process may have stored it
	if err != nil {
		return err
	}
	if r == nil { // it was removed: begin with its origin
		m.releases.forget(v)
		if r, err = m.record(ctx, v); err != nil {
			return err
		}
		known = r
	}
	if !bytes.Equal(r.SumsFile, known.SumsFile) {
		return &UntrustedError{v.String(), fmt.Errorf("the bucket has it with other checksums than before. If these are right, remove it, and it is downloaded again:\n    yuba registry mirror remove %s", v)}
	}
	_, err = m.bucket.Stat(ctx, key)
	if err != nil && !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	there := err == nil
	if r.stored[p] && there && !mistrusted {
		m.releases.put(v, r)
		return nil
	}
	staged, err := m.staging.New()
	if err != nil {
		return &offer.StoreError{What: v.String(), Err: err}
	}
	defer staged.Remove()
	path := filepath.Join(staged.Dir, "archive.zip")
	var wrong error
	if there {
		pkg, err := m.verifyStored(ctx, r, p, path)
		wrong = err
		switch {
		case err == nil:
			return m.stored(ctx, r, p, pkg)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			m.log.Warn("an archive in the bucket is wrong, and is downloaded again", "key", key, "error", err)
		}
	}
	if m.options.Offline && wrong != nil {
		return &UntrustedError{fmt.Sprintf("%s for %s in the bucket", v, p), wrong}
	}
	if m.options.Offline {
		return &offer.NotFoundError{What: fmt.Sprintf("%s for %s in this mirror, which works offline,", v, p)}
	}
	select {
	case m.downloads <- struct{}{}:
		defer func() { <-m.downloads }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := m.download(ctx, r, p, path); err != nil {
		return err
	}
	return m.take(ctx, r, p, path)
}

// verifyStored copies an archive that another program stored, and compares it with the sums.
func (m *Mirror) verifyStored(ctx context.Context, r *record, p layout.Platform, path string) (release.Package, error) {
	from, err := m.bucket.Open(ctx, r.Key(r.Archive(p)))
	if err != nil {
		return release.Package{}, err
	}
	defer from.Close() //nolint:errcheck // it was only read
	to, err := newSpool(path)
	if err != nil {
		return release.Package{}, err
	}
	_, err = io.Copy(to, io.LimitReader(from, release.MaxArchive+1))
	if err := errors.Join(err, to.close()); err != nil {
		return release.Package{}, err
	}
	if err := r.check(p, to.sum()); err != nil {
		return release.Package{}, err
	}
	return r.inspect(p, path)
}

// check compares the sum of an archive with the signed one.
func (r *record) check(p layout.Platform, sum string) error {
	if want := r.Packages[p].Hash("zh:"); sum != want {
		return fmt.Errorf("the archive has the SHA-256 sum %s, but the signed list has %s", sum, want)
	}
	return nil
}

// take stores a verified archive.
func (m *Mirror) take(ctx context.Context, r *record, p layout.Platform, path string) error {
	pkg, err := r.inspect(p, path)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	if err := m.bucket.Put(ctx, r.Key(r.Archive(p)), file); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &offer.StoreError{What: fmt.Sprintf("%s for %s", r, p), Err: err}
	}
	return m.stored(ctx, r, p, pkg)
}

// stored records that an archive is in the bucket and right, and the hash of its content.
func (m *Mirror) stored(ctx context.Context, r *record, p layout.Platform, pkg release.Package) error {
	m.uses.touch(r.Key(r.Archive(p)), m.now())
	err := m.change(ctx, r, func(r *record) {
		r.Packages[p] = pkg
		r.stored[p] = true
	})
	if err != nil {
		return &offer.StoreError{What: fmt.Sprintf("what is known of %s for %s", r, p), Err: err}
	}
	m.grown()
	return nil
}

// inspect computes the hash of an archive's content, and compares it with what the origin reported.
func (r *record) inspect(p layout.Platform, path string) (release.Package, error) {
	what := fmt.Sprintf("%s for %s", r, p)
	file, err := os.Open(path)
	if err != nil {
		return release.Package{}, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return release.Package{}, err
	}
	h1, err := release.ContentHash(file, info.Size())
	if err != nil {
		return release.Package{}, &UntrustedError{what, err}
	}
	pkg := r.Packages[p]
	if reported := pkg.Hash("h1:"); reported != "" && "h1:"+reported != h1 {
		return release.Package{}, &UntrustedError{what, fmt.Errorf("the origin reports the content hash h1:%s, but the archive has %s", reported, h1)}
	}
	return release.Package{Hashes: []string{h1, "zh:" + pkg.Hash("zh:")}, Size: info.Size()}, nil
}
