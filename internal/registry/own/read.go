// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package own

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/release"
)

// record is a release as it was published. It is not changed.
type record struct {
	release.Release
	by string
	// foreign is true for a release of another program.
	foreign bool
	// unverified is why the signature does not count; empty if it does.
	unverified string
}

// storedRecord is its document in the bucket.
type storedRecord struct {
	// Pending is true until all files are stored.
	Pending bool `json:"pending,omitempty"`
	// Upload distinguishes pending uploads of the same files, by several servers.
	Upload    string                     `json:"upload,omitempty"`
	Sums      string                     `json:"sums"` // SHA-256 of the list of sums
	Protocols []string                   `json:"protocols,omitempty"`
	Keys      []release.Key              `json:"signing_keys,omitempty"`
	Signer    string                     `json:"signer,omitempty"`
	Packages  map[string]release.Package `json:"packages,omitempty"`
	Published time.Time                  `json:"published"`
	By        string                     `json:"by,omitempty"`
}

const (
	maxRecord    = 4 << 20
	maxSignature = 1 << 20
)

// Providers returns the names of all providers.
func (s *Store) Providers(context.Context) []layout.Provider {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(s.found), func(a, b layout.Provider) int { return strings.Compare(a.String(), b.String()) })
}

// Versions returns all versions of a provider, newest first.
func (s *Store) Versions(ctx context.Context, p layout.Provider) ([]offer.Version, error) {
	known := s.versions(p)
	if len(known) == 0 {
		if err := s.refreshOne(ctx, p); err != nil {
			return nil, err
		}
		known = s.versions(p)
	}
	var list []offer.Version
	for version := range known {
		r, err := s.record(ctx, layout.ProviderVersion{Provider: p, Version: version})
		if errors.Is(err, offer.ErrNone) {
			continue // it is being published, or was removed
		}
		if err != nil {
			return nil, err
		}
		list = append(list, offer.Version{Version: version, Protocols: r.Protocols, Platforms: r.Platforms(), Unverified: r.unverified})
	}
	if len(list) == 0 {
		return nil, &offer.NotFoundError{What: "the provider " + p.String()}
	}
	slices.SortFunc(list, func(a, b offer.Version) int { return parsed(b.Version).Compare(parsed(a.Version)) })
	return list, nil
}

func parsed(version string) *semver.Version {
	v, err := layout.ParseVersion(version)
	if err != nil {
		panic("a version that was parsed before: " + version)
	}
	return v
}

func (s *Store) versions(p layout.Provider) map[string]*files {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.found[p])
}

// Published describes a published release.
type Published struct {
	release.Release
	// By is who published it; empty for releases of another program.
	By string
	// Foreign is true for a release of another program.
	Foreign bool
	// Unverified is why none of the keys that belong to the release verifies its signature; empty if one
	// does.
	Unverified string
}

// Describe returns a release with all that is known of it.
func (s *Store) Describe(ctx context.Context, v layout.ProviderVersion) (Published, error) {
	r, err := s.record(ctx, v)
	if err != nil {
		return Published{}, err
	}
	return Published{r.Release, r.by, r.foreign, r.unverified}, nil
}

// Release returns a version with the packages of all its platforms.
func (s *Store) Release(ctx context.Context, v layout.ProviderVersion) (offer.Release, error) {
	r, err := s.record(ctx, v)
	if err != nil {
		return offer.Release{}, err
	}
	o := r.Offer()
	o.Unverified = r.unverified
	return o, nil
}

// Open opens a file of a version: an archive, the list of sums or its signature.
func (s *Store) Open(ctx context.Context, v layout.ProviderVersion, file string) (offer.File, error) {
	r, err := s.record(ctx, v)
	if err != nil {
		return offer.File{}, err
	}
	if f, ok := r.File(file); ok {
		return f, nil
	}
	f, ok := layout.ProviderOfKey(v.Key(file))
	pkg, there := r.Packages[f.Platform]
	if !ok || f.ProviderVersion != v || !there {
		missing := &offer.NotFoundError{What: fmt.Sprintf("the file %q of %s", shorten.Cut(file, 80), v)}
		for _, p := range r.Platforms() {
			missing.Known = append(missing.Known, p.String())
		}
		return offer.File{}, missing
	}
	content, err := s.bucket.Open(ctx, v.Key(file))
	if errors.Is(err, blob.ErrNotFound) {
		return offer.File{}, &offer.NotFoundError{What: fmt.Sprintf("the file %s of %s in the bucket", file, v)}
	}
	if err != nil {
		return offer.File{}, err
	}
	return offer.File{Content: content, Size: pkg.Size, Digest: "sha256:" + pkg.Hash("zh:"), Modified: r.Published}, nil
}

// record returns what is known of a version, reading it at most once.
func (s *Store) record(ctx context.Context, v layout.ProviderVersion) (*record, error) {
	f := s.versions(v.Provider)[v.Version]
	if f == nil {
		if err := s.refreshOne(ctx, v.Provider); err != nil {
			return nil, err
		}
		known := s.versions(v.Provider)
		if f = known[v.Version]; f == nil {
			missing := &offer.NotFoundError{What: v.String()}
			for version := range known {
				missing.Known = append(missing.Known, version)
			}
			slices.SortFunc(missing.Known, func(a, b string) int { return parsed(b).Compare(parsed(a)) })
			return nil, missing
		}
	}
	if f.record != nil {
		return f.record, nil
	}
	var r *record
	err := s.flights.Do(ctx, "record "+v.String(), func(ctx context.Context) (err error) {
		r, err = s.load(ctx, v, f)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.remember(ctx, v, f, r)
}

// remember keeps a record. Whoever joined a flight of another caller reads it from there.
func (s *Store) remember(ctx context.Context, v layout.ProviderVersion, f *files, r *record) (*record, error) {
	s.mu.Lock()
	if current := s.found[v.Provider][v.Version]; r == nil && current != nil {
		r = current.record
	} else if r != nil && current != nil {
		// files is shared with readers, so it is replaced.
		replaced := *current
		replaced.record = r
		s.found[v.Provider][v.Version] = &replaced
	}
	s.mu.Unlock()
	if r == nil {
		return s.load(ctx, v, f)
	}
	return r, nil
}

// load reads a release from the bucket: as this program published it, or else from its files alone.
func (s *Store) load(ctx context.Context, v layout.ProviderVersion, f *files) (*record, error) {
	stored, err := s.loadStored(ctx, v)
	if err != nil {
		return nil, err
	}
	if stored != nil && stored.Pending {
		return nil, &offer.NotFoundError{What: v.String() + ", whose upload is not complete,"}
	}
	sums, err := s.bucket.Get(ctx, v.Key(v.Sums()), release.MaxSums)
	if err != nil {
		return nil, missing(v, err)
	}
	signature, err := s.bucket.Get(ctx, v.Key(v.Signature()), maxSignature)
	if err != nil {
		return nil, missing(v, err)
	}
	list, err := release.ParseSums(sums)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", v, err)
	}
	r := &record{Release: release.Release{ProviderVersion: v, SumsFile: sums, SignatureFile: signature, Verified: f.modified, Published: f.modified,
		Packages: map[layout.Platform]release.Package{}, Protocols: release.DefaultProtocols}}
	for platform, pkg := range list.Packages(v) {
		if size, there := f.platforms[platform]; there {
			pkg.Size = size
			r.Packages[platform] = pkg
		}
	}
	keys, err := s.namespaceKeys(ctx, v.Namespace)
	if err != nil {
		return nil, err
	}
	r.Keys, r.foreign = keys.GPG, true
	if stored != nil && stored.Sums == sumOf(sums) {
		stored.fill(r)
		r.Keys, r.foreign = s.newest(stored.Keys, keys.GPG), false
	}
	s.verify(r)
	return r, nil
}

// verify compares the sums of a release with their signature again, with its keys. Whoever writes to the
// bucket can put a release there. Clients of the registry verify it themselves, and get it nevertheless;
// those of the mirror do not. A key that expired since then has signed it.
func (s *Store) verify(r *record) {
	signer, err := release.Verify(r.Keys, r.SumsFile, r.SignatureFile, time.Time{})
	if r.Signer = signer; err != nil {
		r.unverified = err.Error()
	}
	said, _ := s.said.Load(r.ProviderVersion)
	if r.unverified != "" && said != r.unverified {
		s.log.Warn("a provider in the registry's bucket is not verified, and the mirror does not offer it", "version", r.String(), "error", r.unverified)
	}
	s.said.Store(r.ProviderVersion, r.unverified)
}

// fill adds what was found out when the release was published.
func (stored *storedRecord) fill(r *record) {
	r.Protocols, r.by = stored.Protocols, stored.By
	r.Verified, r.Published = stored.Published, stored.Published
	for name, pkg := range stored.Packages {
		platform, err := layout.ParsePlatform(name)
		if have, there := r.Packages[platform]; err == nil && there && have.Hash("zh:") == pkg.Hash("zh:") {
			r.Packages[platform] = pkg
		}
	}
}

func missing(v layout.ProviderVersion, err error) error {
	if errors.Is(err, blob.ErrNotFound) {
		return &offer.NotFoundError{What: v.String()}
	}
	return err
}

func (s *Store) loadStored(ctx context.Context, v layout.ProviderVersion) (*storedRecord, error) {
	text, err := s.bucket.Get(ctx, v.OwnKey(), maxRecord)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var stored storedRecord
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, fmt.Errorf("read %s in the bucket: %w", v.OwnKey(), err)
	}
	return &stored, nil
}

func (s *Store) writeStored(ctx context.Context, v layout.ProviderVersion, stored *storedRecord, write func(context.Context, string, []byte) error) error {
	text, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	return write(ctx, v.OwnKey(), text)
}

func (s *Store) put(ctx context.Context, key string, text []byte) error {
	return s.bucket.Put(ctx, key, bytes.NewReader(text))
}

func (s *Store) create(ctx context.Context, key string, text []byte) error {
	return s.bucket.Create(ctx, key, bytes.NewReader(text))
}
