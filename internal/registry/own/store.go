// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package own

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/download"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/uploads"
)

// Options configure a store.
type Options struct {
	// Spool is a directory for uploads that nobody else uses. It is created, and must be given.
	Spool string
	// MaxUpload is the size of an upload in bytes; 0 means [DefaultMaxUpload].
	MaxUpload int64
	// Uploads limit all uploads together. Their room has at least that of one.
	Uploads uploads.Limits
	// Later makes Open list nothing: the caller calls Load before all else.
	Later bool
	// Now is the clock; nil means the system's.
	Now func() time.Time
	Log *slog.Logger
}

// DefaultMaxUpload is 20 platforms of a very large provider.
const DefaultMaxUpload = 16 << 30

const (
	// refreshInterval is how often the bucket is listed for what other programs published, and for changed
	// keys: less than the minute that the documentation promises.
	refreshInterval = 50 * time.Second
	// missInterval is how often a provider is listed for a version that is not known.
	missInterval = 10 * time.Second
)

// Store keeps the registry's own providers. It is safe for concurrent use.
type Store struct {
	bucket  blob.Bucket
	options Options
	staging download.Staging
	uploads *uploads.Limiter
	flights download.Flights
	log     *slog.Logger
	now     func() time.Time

	mu sync.RWMutex
	// found are the files of each version in the bucket.
	found map[layout.Provider]map[string]*files
	// listed are the last lists of single providers. lists counts lists that have begun: one that began
	// earlier does not undo what a later one found.
	listed map[layout.Provider]listed
	lists  uint64
	// keysSeen are the objects with the keys of each namespace when they were listed last.
	keysSeen map[string]blob.Info
	// said is why a version is not verified, as the log said last.
	said sync.Map
	// keys excludes two changes of keys.
	keys sync.Mutex
	// publishing excludes two uploads of one version in this process.
	publishing sync.Map
}

// listed is a list of one provider.
type listed struct {
	at    time.Time
	began uint64
}

// files are those of one version.
type files struct {
	platforms       map[layout.Platform]int64 // sizes
	sums, signature bool
	modified        time.Time
	// record is what is known of the release; nil until somebody asks.
	record *record
}

// Open lists the providers of a bucket once, unless that is for later.
func Open(ctx context.Context, b *blob.Plain, o Options) (*Store, error) { return newStore(ctx, b, o) }

func newStore(ctx context.Context, b blob.Bucket, o Options) (*Store, error) {
	s := &Store{bucket: b, options: o, staging: download.Staging(o.Spool), log: o.Log, now: o.Now,
		found: map[layout.Provider]map[string]*files{}, listed: map[layout.Provider]listed{}}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.options.MaxUpload == 0 {
		s.options.MaxUpload = DefaultMaxUpload
	}
	o.Uploads.Room = max(o.Uploads.Room, s.options.MaxUpload)
	s.uploads = uploads.New(o.Uploads)
	if err := s.staging.Prepare(); err != nil {
		return nil, fmt.Errorf("open the registry's providers: prepare the directory for uploads: %w", err)
	}
	if o.Later {
		return s, nil
	}
	return s, s.Load(ctx)
}

// Load lists the providers of the bucket. It can be repeated if it fails.
func (s *Store) Load(ctx context.Context) error {
	if err := s.refresh(ctx); err != nil {
		return fmt.Errorf("open the registry's providers: %w", err)
	}
	return nil
}

// Run finds what other programs publish in the bucket, until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	tick := time.NewTicker(refreshInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := s.refresh(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("listing the registry's providers", "error", err)
		}
	}
}

// refresh lists all providers.
func (s *Store) refresh(ctx context.Context) error {
	began := s.begin()
	fresh, keys, err := s.list(ctx, layout.ProvidersPrefix)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, versions := range fresh {
		// Another server may have changed the keys with which the releases are served.
		if sameObject(keys[p.Namespace], s.keysSeen[p.Namespace]) {
			keepRecords(versions, s.found[p])
		}
	}
	for p, later := range s.listed { // for instance because somebody published it meanwhile
		if later.began < began {
			continue
		}
		if delete(fresh, p); s.found[p] != nil {
			fresh[p] = s.found[p]
		}
	}
	s.found, s.keysSeen = fresh, keys
	return nil
}

// begin numbers a list that begins.
func (s *Store) begin() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	return s.lists
}

func sameObject(a, b blob.Info) bool { return a.Size == b.Size && a.Modified.Equal(b.Modified) }

// refreshOne lists one provider, unless that was done just now.
func (s *Store) refreshOne(ctx context.Context, p layout.Provider) error {
	if s.listedLately(p) {
		return nil
	}
	return s.flights.Do(ctx, p.String(), func(ctx context.Context) error {
		if s.listedLately(p) {
			return nil
		}
		return s.relist(ctx, p)
	})
}

func (s *Store) listedLately(p layout.Provider) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.now().Sub(s.listed[p].at) < missInterval
}

// relist lists one provider.
func (s *Store) relist(ctx context.Context, p layout.Provider) error {
	began := s.begin()
	fresh, _, err := s.list(ctx, layout.ProviderVersion{Provider: p}.Key(""))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listed[p].began > began {
		return nil
	}
	if len(s.listed) > 10_000 { // names that somebody makes up
		clear(s.listed)
	}
	s.listed[p] = listed{s.now(), began}
	if versions := fresh[p]; len(versions) > 0 {
		keepRecords(versions, s.found[p])
		s.found[p] = versions
	} else {
		delete(s.found, p)
	}
	return nil
}

// keepRecords carries over what was read, for versions whose files are the same. Another program may
// change the keys of the releases that it published.
func keepRecords(fresh, old map[string]*files) {
	for version, f := range fresh {
		if known := old[version]; known != nil && known.record != nil && !known.record.foreign && known.modified.Equal(f.modified) && len(known.platforms) == len(f.platforms) {
			f.record = known.record
		}
	}
}

// list finds the files of providers, and the objects with the keys of namespaces.
func (s *Store) list(ctx context.Context, prefix string) (found map[layout.Provider]map[string]*files, keys map[string]blob.Info, err error) {
	found, keys = map[layout.Provider]map[string]*files{}, map[string]blob.Info{}
	for info, err := range s.bucket.List(ctx, prefix) {
		if err != nil {
			return nil, nil, err
		}
		if namespace := path.Base(path.Dir(info.Key)); info.Key == layout.SigningKeysKey(namespace) {
			keys[namespace] = info
			continue
		}
		f, ok := layout.ProviderOfKey(info.Key)
		if !ok || f.Host != "" {
			continue
		}
		if found[f.Provider] == nil {
			found[f.Provider] = map[string]*files{}
		}
		of := found[f.Provider][f.Version]
		if of == nil {
			of = &files{platforms: map[layout.Platform]int64{}}
			found[f.Provider][f.Version] = of
		}
		switch f.Name {
		case f.Sums():
			of.sums, of.modified = true, info.Modified
		case f.Signature():
			of.signature = true
		default:
			of.platforms[f.Platform] = info.Size
		}
	}
	for p, versions := range found {
		for version, f := range versions {
			if !f.sums || !f.signature || len(f.platforms) == 0 { // no client could verify it
				delete(versions, version)
			}
		}
		if len(versions) == 0 {
			delete(found, p)
		}
	}
	return found, keys, nil
}
