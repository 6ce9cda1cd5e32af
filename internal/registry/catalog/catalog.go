// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// Options configure a catalog. Zero fields have defaults.
type Options struct {
	// Spool is the directory for uploads; the system's temporary directory.
	Spool string
	// Refresh is the time between two lists of the whole bucket; a minute.
	Refresh time.Duration
	// Again is the time in which one module is listed at most once for unknown names; 10 s.
	Again time.Duration
	// MaxArchive limits an archive in bytes; 1 GiB.
	MaxArchive int64
	// Log takes what happens in the background; nothing is logged without it.
	Log *slog.Logger
	// Now is the clock; time.Now.
	Now func() time.Time
}

// Catalog knows and keeps the releases of modules. It is safe for concurrent use.
type Catalog struct {
	bucket *blob.Plain
	opts   Options
}

var errLater = errors.New("not written yet")

// Open lists the bucket once.
func Open(ctx context.Context, bucket *blob.Plain, opts Options) (*Catalog, error) {
	return &Catalog{bucket: bucket, opts: opts}, nil
}

// Run refreshes the index, and reads archives of other programs, until ctx ends.
func (c *Catalog) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Modules returns all modules, sorted.
func (c *Catalog) Modules(ctx context.Context) []layout.Module { return nil }

// Versions returns the releases of a module, newest first, without interfaces. The error wraps
// [ErrNone] if there is no such module.
func (c *Catalog) Versions(ctx context.Context, m layout.Module) ([]Release, error) {
	return nil, errLater
}

// Release returns a release with its interface, or an error that wraps [ErrNone].
func (c *Catalog) Release(ctx context.Context, v layout.ModuleVersion) (Release, error) {
	return Release{}, errLater
}

// Archive opens the archive of a release, or returns an error that wraps [ErrNone].
func (c *Catalog) Archive(ctx context.Context, v layout.ModuleVersion) (io.ReadCloser, Release, error) {
	return nil, Release{}, errLater
}

// Publish stores an archive as a new release. It returns an *inspect.Error for an invalid archive,
// *IncompatibleError for a patch that breaks callers, and *ConflictError for a version that exists
// with other bytes. Publishing the same bytes again succeeds.
func (c *Catalog) Publish(ctx context.Context, v layout.ModuleVersion, archive io.Reader, opts PublishOptions) (Release, Changes, error) {
	return Release{}, Changes{}, errLater
}

// Mark sets the notice of a release; nil removes it.
func (c *Catalog) Mark(ctx context.Context, v layout.ModuleVersion, notice *Notice) (Release, error) {
	return Release{}, errLater
}
