// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/kit/limiter"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/uploads"
)

// Options configure a catalog. Zero fields have defaults.
type Options struct {
	// Spool is a directory for uploads that nobody else uses. It is created, and must be given.
	Spool string
	// Uploads limit uploads and what is read of archives. Their room has at least that of two archives.
	Uploads uploads.Limits
	// Refresh is the time between two lists of the whole bucket; a minute.
	Refresh time.Duration
	// Again is the time in which one module is listed at most once for unknown names; 10 s.
	Again time.Duration
	// MaxArchive limits an archive in bytes; 1 GiB.
	MaxArchive int64
	// Later makes Open list nothing: the caller calls Load before all else.
	Later bool
	// Log takes what happens in the background; nothing is logged without it.
	Log *slog.Logger
	// Now is the clock; time.Now.
	Now func() time.Time
}

// Catalog knows and keeps the releases of modules. It is safe for concurrent use.
type Catalog struct {
	bucket  blob.Bucket
	opts    Options
	limits  archive.Limits
	uploads *uploads.Limiter
	// storing excludes two publishers of one module in this process, so that each is compared with
	// what the other one stored.
	storing *limiter.Limiter
	// learning limits how long sidecars are read for those who wait.
	learning time.Duration

	mu      sync.RWMutex
	modules map[layout.Module]*entry
	// changes counts the changes that this process made, so that a list of the bucket that began
	// before one does not undo it.
	changes uint64
	misses  map[layout.Module]time.Time

	announce atomic.Pointer[func(layout.Module)]
	flights  singleflight.Group
	// lists limits lists of single modules for unknown names.
	lists chan struct{}
}

const (
	// maxMisses limits the remembered unknown names, which anybody can ask for.
	maxMisses = 10_000
	// sidecars is the number of sidecars that are read at the same time.
	sidecars = 16
	// maxLearning limits reading the sidecars of one module. What was not read is unknown until the
	// next attempt.
	maxLearning = 30 * time.Second
	// spooled begins the names of uploads on disk.
	spooled = "yuba-module-"
)

// Open lists the bucket once, unless that is for later.
func Open(ctx context.Context, bucket *blob.Plain, opts Options) (*Catalog, error) {
	return open(ctx, bucket, opts)
}

func open(ctx context.Context, b blob.Bucket, opts Options) (*Catalog, error) {
	if err := prepareSpool(opts.Spool); err != nil {
		return nil, fmt.Errorf("open the registry's modules: %w", err)
	}
	opts.Refresh = cmp.Or(opts.Refresh, time.Minute)
	opts.Again = cmp.Or(opts.Again, 10*time.Second)
	opts.MaxArchive = cmp.Or(opts.MaxArchive, inspect.DefaultLimits.MaxPacked)
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Uploads.Room = max(opts.Uploads.Room, 2*opts.MaxArchive)
	c := &Catalog{bucket: b, opts: opts, limits: inspect.DefaultLimits, modules: map[layout.Module]*entry{}, misses: map[layout.Module]time.Time{},
		lists: make(chan struct{}, 4), uploads: uploads.New(opts.Uploads), storing: limiter.New(1), learning: maxLearning}
	c.limits.MaxPacked = opts.MaxArchive
	if opts.Later {
		return c, nil
	}
	return c, c.Load(ctx)
}

// prepareSpool creates the directory for uploads, and removes what an earlier process left there when
// it ended between creating a file and removing its name.
func prepareSpool(dir string) error {
	if dir == "" {
		return errors.New("no directory for uploads is given")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the directory for uploads: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, spooled+"*"))
	for _, file := range left {
		err = errors.Join(err, os.Remove(file))
	}
	if err != nil {
		return fmt.Errorf("remove abandoned uploads: %w", err)
	}
	return nil
}

// Load lists the bucket. It can be repeated if it fails.
func (c *Catalog) Load(ctx context.Context) error {
	if err := c.refresh(ctx); err != nil {
		return fmt.Errorf("list the modules of the registry: %w", err)
	}
	return nil
}

// Run refreshes the index, and reads what the bucket has beside the archives, until ctx ends.
func (c *Catalog) Run(ctx context.Context) error {
	ticker := time.NewTicker(c.opts.Refresh)
	defer ticker.Stop()
	for {
		for _, m := range c.Modules(ctx) {
			if ctx.Err() != nil {
				return nil
			}
			c.learn(ctx, m)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := c.refresh(ctx); err != nil && ctx.Err() == nil {
			c.opts.Log.Warn("listing the registry's modules failed; the last list is used", "error", err)
		}
	}
}

// Modules returns all modules, sorted.
func (c *Catalog) Modules(context.Context) []layout.Module {
	c.mu.RLock()
	modules := slices.Collect(maps.Keys(c.modules))
	c.mu.RUnlock()
	slices.SortFunc(modules, func(a, b layout.Module) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.System, b.System))
	})
	return modules
}

// Versions returns the releases of a module, newest first, without interfaces. The error wraps
// [ErrNone] if there is no such module.
func (c *Catalog) Versions(ctx context.Context, m layout.Module) ([]Release, error) {
	e := c.entry(m)
	if e == nil {
		if err := c.seek(ctx, m); err != nil {
			return nil, err
		}
		if e = c.entry(m); e == nil {
			return nil, fmt.Errorf("%w as %s in the registry", ErrNone, m)
		}
	}
	if e.unread() {
		c.learn(ctx, m)
		if again := c.entry(m); again != nil {
			e = again
		}
	}
	releases := make([]Release, 0, len(e.records))
	for i := range e.records {
		releases = append(releases, e.records[i].release(m))
	}
	return releases, nil
}

// Release returns a release without its interface, or an error that wraps [ErrNone].
func (c *Catalog) Release(ctx context.Context, v layout.ModuleVersion) (Release, error) {
	r, err := c.record(ctx, v)
	if err != nil {
		return Release{}, err
	}
	if r.unread() {
		c.learn(ctx, v.Module)
		if again := c.entry(v.Module).get(v.Version); again != nil {
			r = again
		}
	}
	return r.release(v.Module), nil
}

// record finds a release. It lists the module if the version is unknown.
func (c *Catalog) record(ctx context.Context, v layout.ModuleVersion) (*record, error) {
	if r := c.entry(v.Module).get(v.Version); r != nil {
		return r, nil
	}
	if err := c.seek(ctx, v.Module); err != nil {
		return nil, err
	}
	e := c.entry(v.Module)
	if e == nil {
		return nil, fmt.Errorf("%w as %s in the registry", ErrNone, v.Module)
	}
	if r := e.get(v.Version); r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("%w version as %s in the registry; its newest is %s", ErrNone, v, e.records[0].version)
}

// Archive opens the archive of a release, or returns an error that wraps [ErrNone].
func (c *Catalog) Archive(ctx context.Context, v layout.ModuleVersion) (io.ReadCloser, Release, error) {
	release, err := c.Release(ctx, v)
	if err != nil {
		return nil, Release{}, err
	}
	content, err := c.bucket.Open(ctx, v.Key())
	if errors.Is(err, blob.ErrNotFound) { // another program removed it
		return nil, Release{}, fmt.Errorf("%w version as %s in the registry any more", ErrNone, v)
	}
	if err != nil {
		return nil, Release{}, err
	}
	return content, release, nil
}

// Describe returns a release with its interface, or an error that wraps [ErrNone]. It reads the
// bucket; if nothing is recorded of the release, it reads the archive.
func (c *Catalog) Describe(ctx context.Context, v layout.ModuleVersion) (Release, error) {
	r, err := c.record(ctx, v)
	if err != nil {
		return Release{}, err
	}
	side, err := c.readSidecar(ctx, v)
	known := *r
	if err == nil {
		known.facts = side.facts()
	}
	if errors.Is(err, errUnusable) || err == nil && !known.current() {
		if side, err = c.adopt(ctx, v, r, side); err == nil {
			r = c.entry(v.Module).get(v.Version)
		}
	}
	if err != nil {
		return Release{}, fmt.Errorf("describe the module %s: %w", v, err)
	}
	if r == nil {
		return Release{}, fmt.Errorf("%w version as %s in the registry any more", ErrNone, v)
	}
	known = *r
	known.facts = side.facts()
	release := known.release(v.Module)
	release.Interface = side.Module
	return release, nil
}
