// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/uploads"
)

// Publish stores an archive as a new release. It returns an *inspect.Error for an invalid archive,
// *IncompatibleError for a patch that breaks callers, and *ConflictError for a version that exists
// with other bytes, and *uploads.BusyError if too many others are publishing. Publishing the same bytes again succeeds. If the archive was stored, but nothing
// about it could be recorded, it returns an error, and publishing again completes it.
func (c *Catalog) Publish(ctx context.Context, v layout.ModuleVersion, content io.Reader, opts PublishOptions) (Release, Changes, error) {
	fail := func(err error) (Release, Changes, error) {
		return Release{}, Changes{}, fmt.Errorf("publish %s: %w", v, err)
	}
	if _, err := layout.ParseModuleVersion(v.String()); err != nil {
		return fail(&inspect.Error{Reason: err.Error()})
	}
	place, err := c.uploads.Begin(ctx, opts.By)
	if err != nil {
		return fail(err)
	}
	defer place.End()
	u, err := c.receive(ctx, place, content)
	if err != nil {
		return fail(err)
	}
	defer u.close()
	leave, err := c.storing.Take(ctx, v.Module.String())
	if err != nil {
		return fail(err)
	}
	defer leave()
	side := &sidecar{Digest: u.digest, Size: u.size, By: opts.By, From: opts.From, Module: u.module, Published: c.opts.Now().UTC()}
	stored, err := c.storedDigest(ctx, v)
	if err != nil {
		return fail(err)
	}
	if stored != "" {
		return c.published(ctx, v, side, stored)
	}
	// Another server may have published the version before this one a moment ago.
	e, err := c.listModule(ctx, v.Module)
	if err != nil {
		return fail(err)
	}
	changes, err := c.compare(ctx, v, e, u.module)
	if err != nil {
		return fail(err)
	}
	if changes.Step == stepPatch && len(inspect.Breaking(changes.List)) > 0 && !opts.Force {
		return Release{}, changes, &IncompatibleError{Version: v, Changes: changes}
	}
	if err := u.rewind(); err != nil {
		return fail(err)
	}
	err = c.bucket.Create(ctx, v.Key(), u.file)
	if errors.Is(err, blob.ErrExists) { // another publisher was faster
		if stored, err = c.hashStored(ctx, v); err == nil {
			return c.published(ctx, v, side, stored)
		}
	}
	if err != nil {
		return fail(err)
	}
	return c.recordNew(ctx, v, side, changes)
}

// recordNew records an archive that was just created.
func (c *Catalog) recordNew(ctx context.Context, v layout.ModuleVersion, side *sidecar, changes Changes) (Release, Changes, error) {
	// The release exists now, although the client may be gone.
	err := c.writeSidecar(context.WithoutCancel(ctx), v, side)
	r := c.change(v, func(r *record) {
		r.size, r.written, r.side, r.facts = side.Size, side.Published, stamp{}, side.facts()
		if err == nil {
			r.side = learned
		}
	})
	if err != nil {
		return r.release(v.Module), changes, fmt.Errorf("publish %s: the archive is published, but who published it could not be recorded; publish it again: %w", v, err)
	}
	release := r.release(v.Module)
	release.Interface = side.Module
	return release, changes, nil
}

// published answers for a version that exists.
func (c *Catalog) published(ctx context.Context, v layout.ModuleVersion, side *sidecar, stored string) (Release, Changes, error) {
	if stored != side.Digest {
		return Release{}, Changes{}, &ConflictError{Version: v, Have: stored, Got: side.Digest}
	}
	side, err := c.settleSidecar(ctx, v, side, false)
	if err != nil {
		return Release{}, Changes{}, fmt.Errorf("publish %s: the archive was published before, but recording it failed: %w", v, err)
	}
	r := c.change(v, func(r *record) {
		r.size, r.facts, r.side = side.Size, side.facts(), learned
		if r.written.IsZero() {
			r.written = side.Published
		}
	})
	release := r.release(v.Module)
	release.Interface = side.Module
	return release, Changes{Existed: true}, nil
}

// storedDigest returns the digest of a version's archive; empty if there is none.
func (c *Catalog) storedDigest(ctx context.Context, v layout.ModuleVersion) (string, error) {
	info, err := c.bucket.Stat(ctx, v.Key())
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	}
	if r := c.entry(v.Module).get(v.Version); r != nil && r.current() && r.size == info.Size && r.written.Equal(info.Modified) && r.facts.digest != "" {
		return r.facts.digest, nil
	}
	return c.hashStored(ctx, v)
}

func (c *Catalog) hashStored(ctx context.Context, v layout.ModuleVersion) (string, error) {
	content, err := c.bucket.Open(ctx, v.Key())
	if err != nil {
		return "", err
	}
	defer content.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return "", fmt.Errorf("read the published archive: %w", err)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// The steps between two versions.
const (
	stepMajor = "major"
	stepMinor = "minor"
	stepPatch = "patch"
)

// compare compares a new module with the newest stable release before it that is not revoked.
// Pre-releases may differ from each other as they like.
func (c *Catalog) compare(ctx context.Context, v layout.ModuleVersion, e *entry, module *inspect.Module) (Changes, error) {
	next := semver.MustParse(v.Version)
	if e == nil {
		return Changes{}, nil
	}
	for i := range e.records { // newest first
		r := &e.records[i]
		base := semver.MustParse(r.version)
		if base.Prerelease() != "" || !base.LessThan(next) || r.notice != nil && r.notice.Kind == Revoked {
			continue
		}
		changes := Changes{Base: r.version, Step: step(base, next)}
		before, err := c.Describe(ctx, layout.ModuleVersion{Module: v.Module, Version: r.version})
		switch {
		case errors.Is(err, ErrNone): // another program removed it
			continue
		case err != nil:
			return Changes{}, fmt.Errorf("compare it with %s: %w", r.version, err)
		case before.Interface == nil:
			changes.Uncompared = before.Problem
			return changes, nil
		}
		changes.List = inspect.Compare(before.Interface, module)
		return changes, nil
	}
	return Changes{}, nil
}

func step(before, after *semver.Version) string {
	switch {
	case before.Major() != after.Major():
		return stepMajor
	case before.Minor() != after.Minor():
		return stepMinor
	}
	return stepPatch
}

// upload is an archive that was received and inspected.
type upload struct {
	file   *os.File
	digest string
	size   int64
	module *inspect.Module
}

func (u *upload) close() {
	_ = u.file.Close()
}

func (u *upload) rewind() error {
	_, err := u.file.Seek(0, io.SeekStart)
	return err
}

// receive spools and inspects an archive. If the module is in a directory of its own, it moves it to
// the archive's root.
func (c *Catalog) receive(ctx context.Context, place *uploads.Upload, content io.Reader) (*upload, error) {
	u, err := c.spool(place, func(w io.Writer) error {
		n, err := io.Copy(w, io.LimitReader(content, c.opts.MaxArchive+1))
		if err == nil && n > c.opts.MaxArchive {
			err = &inspect.Error{Reason: (&archive.LimitError{What: "the archive's size in bytes", Limit: c.opts.MaxArchive}).Error()}
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = &inspect.Error{Reason: "the upload ended early"}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	end, err := c.uploads.Reading(ctx)
	if err != nil {
		u.close()
		return nil, err
	}
	defer end()
	if err = u.rewind(); err == nil {
		u.module, err = inspect.Read(ctx, u.file, c.limits)
	}
	if err != nil {
		u.close()
		return nil, err
	}
	if u.module.Stripped == "" {
		return u, nil
	}
	defer u.close()
	return c.strip(ctx, place, u)
}

// strip makes an archive without the directory around its module.
func (c *Catalog) strip(ctx context.Context, place *uploads.Upload, u *upload) (*upload, error) {
	if err := u.rewind(); err != nil {
		return nil, err
	}
	stripped, err := c.spool(place, func(w io.Writer) error {
		_, err := archive.Repack(ctx, u.file, c.limits, u.module.Stripped, w)
		return err
	})
	if err != nil {
		return nil, err
	}
	stripped.module = u.module
	return stripped, nil
}

// spool makes a temporary file of what fill writes. The file has no name, so it ends with the process,
// however that ends.
func (c *Catalog) spool(place *uploads.Upload, fill func(io.Writer) error) (*upload, error) {
	file, err := os.CreateTemp(c.opts.Spool, spooled)
	if err != nil {
		return nil, fmt.Errorf("receive the archive: %w", err)
	}
	u := &upload{file: file}
	if err := os.Remove(file.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		u.close()
		return nil, fmt.Errorf("receive the archive: %w", err)
	}
	sum := sha256.New()
	if err := fill(place.Writer(io.MultiWriter(file, sum))); err != nil {
		u.close()
		return nil, fmt.Errorf("receive the archive: %w", err)
	}
	if u.size, err = file.Seek(0, io.SeekCurrent); err != nil {
		u.close()
		return nil, fmt.Errorf("receive the archive: %w", err)
	}
	u.digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return u, nil
}
