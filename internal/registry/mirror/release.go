// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/release"
)

// hostUnsigned is the only registry whose releases may lack a signing key: OpenTofu's own publishes
// providers whose keys it does not know, and OpenTofu accepts them from it.
const hostUnsigned = "registry.opentofu.org"

// justNow is how old an index may be that lacks a version which somebody asks for.
const justNow = 10 * time.Second

// Release returns a verified release, with the hashes of all platforms. It asks the origin at most
// once in the release's life.
func (m *Mirror) Release(ctx context.Context, v layout.ProviderVersion) (offer.Release, error) {
	r, err := m.record(ctx, v)
	if err != nil {
		return offer.Release{}, err
	}
	return r.Offer(), nil
}

// Open opens a file of a release: an archive, the list of sums or its signature. The caller must
// close it.
func (m *Mirror) Open(ctx context.Context, v layout.ProviderVersion, file string) (offer.File, error) {
	if f, ok := layout.ProviderOfKey(v.Key(file)); ok && f.Platform != (layout.Platform{}) && f.ProviderVersion == v {
		return m.archive(ctx, v, f.Platform)
	}
	r, err := m.record(ctx, v)
	if err != nil {
		return offer.File{}, err
	}
	f, ok := r.File(file)
	if !ok {
		return offer.File{}, &offer.NotFoundError{What: fmt.Sprintf("the file %q of %s", shorten.Cut(file, 80), v)}
	}
	return f, nil
}

// admit returns an error for a provider that the lists do not allow, and for a request of this mirror
// itself: that would wait for its own answer.
func (m *Mirror) admit(ctx context.Context, p layout.Provider) error {
	if err := m.rules.check(p); err != nil {
		return err
	}
	if _, err := offer.Via(ctx, m.origins.name); err != nil {
		return &LoopError{p}
	}
	return nil
}

func (m *Mirror) record(ctx context.Context, v layout.ProviderVersion) (*record, error) {
	if err := m.admit(ctx, v.Provider); err != nil {
		return nil, err
	}
	if r, ok := m.releases.get(v); ok {
		return r, nil
	}
	err := m.flights.Do(ctx, "release "+v.String(), func(ctx context.Context) error { return m.obtain(ctx, v) })
	if err != nil {
		return nil, err
	}
	r, ok := m.releases.get(v)
	if !ok {
		return nil, fmt.Errorf("read %s: it was forgotten at once. This is a bug in Yuba", v)
	}
	return r, nil
}

// obtain finds a release in the bucket or at its origin, verifies it and remembers it.
func (m *Mirror) obtain(ctx context.Context, v layout.ProviderVersion) error {
	r, err := m.load(ctx, v)
	if err != nil {
		return err
	}
	if r != nil {
		if err := m.confirm(ctx, r); err != nil {
			return err
		}
		m.releases.put(v, r)
		return nil
	}
	if m.options.Offline {
		return m.adopt(ctx, v, &offer.NotFoundError{What: fmt.Sprintf("%s in this mirror, which works offline,", v)})
	}
	r, err = m.fetchRelease(ctx, v)
	var silent *OriginError
	if errors.As(err, &silent) {
		return m.adopt(ctx, v, err)
	}
	if err != nil {
		return err
	}
	return m.save(ctx, r)
}

// confirm asks the origin of a release that nobody signed whether it still has these checksums: in the
// bucket nothing proves them. Without an answer they count, so that the release can be installed
// while its origin is down.
func (m *Mirror) confirm(ctx context.Context, r *record) error {
	if r.Signer != "" || m.options.Offline {
		return nil
	}
	asking, cancel := context.WithTimeoutCause(ctx, stalePatience, errors.New("no response in time"))
	defer cancel()
	now, err := m.fetchRelease(asking, r.ProviderVersion)
	var silent *OriginError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && !errors.As(err, &silent) && asking.Err() == nil:
		return err
	case err != nil:
		m.log.Warn("an unsigned provider in the bucket could not be compared with its origin's, and is served", "provider", r.String(), "error", err)
		return nil
	case !bytes.Equal(now.SumsFile, r.SumsFile):
		return &UntrustedError{r.String(), fmt.Errorf("nobody signed it, and the checksums in the bucket are not those of %s. If the latter are right, remove it, and it is downloaded again:\n    yuba registry mirror remove %s", r.Host, r)}
	}
	return nil
}

// fetchRelease reads a release from its origin. Sums, keys and hashes are the same whatever platform
// is asked for.
func (m *Mirror) fetchRelease(ctx context.Context, v layout.ProviderVersion) (*record, error) {
	platform, err := m.anyPlatform(ctx, v)
	if err != nil {
		return nil, err
	}
	found, err := m.find(ctx, v, platform)
	if err != nil {
		return nil, err
	}
	sums, signature, err := m.origins.signed(ctx, found)
	if err != nil {
		return nil, &OriginError{Host: v.Host, What: "read the checksums of " + v.String(), Status: status(err), Err: err}
	}
	r, err := m.verify(v, sums, signature, found.Keys.GPG, m.keysAt())
	if err != nil {
		return nil, err
	}
	r.Protocols = found.Protocols
	return r, r.complete(found.Packages)
}

// find asks the origin for the archive of a platform.
func (m *Mirror) find(ctx context.Context, v layout.ProviderVersion, p layout.Platform) (answer, error) {
	found, err := m.origins.find(ctx, v, p)
	if code := status(err); code == http.StatusNotFound || code == http.StatusGone || errors.Is(err, errNoRegistry) {
		return answer{}, &offer.NotFoundError{What: fmt.Sprintf("%s for %s", v, p)}
	}
	if err != nil {
		return answer{}, &OriginError{Host: v.Host, What: fmt.Sprintf("find %s for %s", v, p), Status: status(err), Err: err}
	}
	return found, nil
}

// anyPlatform returns a platform for which the version exists.
func (m *Mirror) anyPlatform(ctx context.Context, v layout.ProviderVersion) (layout.Platform, error) {
	usual := layout.Platform{OS: "linux", Arch: "amd64"}
	i, err := m.index(ctx, v.Provider, m.options.TTL)
	if err == nil && i.find(v.Version) == nil {
		i, err = m.index(ctx, v.Provider, justNow)
	}
	if err != nil {
		return usual, err
	}
	entry := i.find(v.Version)
	if entry == nil {
		if i.Stale != nil { // nobody knows whether it exists
			return usual, &OriginError{Host: v.Host, What: "find " + v.String(), Status: status(i.Stale), Err: i.Stale}
		}
		missing := &offer.NotFoundError{What: v.String()}
		for _, known := range i.Versions {
			missing.Known = append(missing.Known, known.Version)
		}
		return usual, missing
	}
	if len(entry.Platforms) == 0 || slices.Contains(entry.Platforms, usual) {
		return usual, nil
	}
	return entry.Platforms[0], nil
}

// keysAt is when the keys of a release must be valid; zero if expired ones are accepted.
func (m *Mirror) keysAt() time.Time {
	if m.options.RefuseExpired {
		return m.now()
	}
	return time.Time{}
}

// verify compares sums with their signature, see [release.Verify].
func (m *Mirror) verify(v layout.ProviderVersion, sums, signature []byte, keys []release.Key, at time.Time) (*record, error) {
	r := &record{Release: release.Release{
		ProviderVersion: v, Keys: keys, SumsFile: sums, SignatureFile: signature, Verified: m.now().UTC(),
	}, stored: map[layout.Platform]bool{}}
	r.Published = r.Verified
	parsed, err := release.ParseSums(sums)
	if err != nil {
		return nil, &UntrustedError{v.String(), err}
	}
	if r.Packages = parsed.Packages(v); len(r.Packages) == 0 {
		return nil, &UntrustedError{v.String(), errors.New("the list of checksums has no archive of this version")}
	}
	if len(keys) == 0 && v.Host == m.unsigned {
		return r, nil
	}
	if r.Signer, err = release.Verify(keys, sums, signature, at); err != nil {
		return nil, &UntrustedError{v.String(), err}
	}
	return r, nil
}

// complete adds the hashes and sizes that the origin knows. They must not contradict the sums.
func (r *record) complete(packages map[string]release.Package) error {
	for name, reported := range packages {
		platform, err := layout.ParsePlatform(name)
		signed, known := r.Packages[platform]
		if err != nil || !known {
			continue
		}
		if zh := reported.Hash("zh:"); zh != "" && !strings.EqualFold(zh, signed.Hash("zh:")) {
			return &UntrustedError{r.String(), fmt.Errorf("the origin reports the checksum %s for %s, but the signed list has %s", zh, platform, signed.Hash("zh:"))}
		}
		if h1 := reported.Hash("h1:"); h1 != "" {
			signed.Hashes = append(signed.Hashes, "h1:"+h1)
		}
		signed.Size = max(0, reported.Size)
		r.Packages[platform] = signed
	}
	return nil
}

// adopt takes over a release that another program put into the bucket, if it can be verified with the
// namespace's keys there. It is only for an origin that cannot be asked: one that answers has the last
// word. Else it returns the reason why the origin's was not taken.
func (m *Mirror) adopt(ctx context.Context, v layout.ProviderVersion, reason error) error {
	sums, err := m.get(ctx, v.Key(v.Sums()), release.MaxSums)
	if sums == nil || err != nil {
		return errors.Join(reason, err)
	}
	signature, err := m.get(ctx, v.Key(v.Signature()), maxSignature)
	if err != nil {
		return err
	}
	keys, err := m.keys(ctx, v.Provider)
	if err != nil {
		return err
	}
	if len(keys.GPG) == 0 { // an unsigned release is accepted from its registry only
		return reason
	}
	r, err := m.verify(v, sums, signature, keys.GPG, m.keysAt())
	if err != nil {
		return errors.Join(reason, err)
	}
	r.Protocols = release.DefaultProtocols
	return m.save(ctx, r)
}
