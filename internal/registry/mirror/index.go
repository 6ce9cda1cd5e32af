// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
)

const (
	// stalePatience is how long a request waits for a new index while there is an old one.
	stalePatience = 3 * time.Second
	// refreshPatience limits the attempt itself, which goes on.
	refreshPatience = 30 * time.Second
	// restWithout and restWith are the pauses after a failed attempt, without and with an old index.
	restWithout = 3 * time.Second
	restWith    = 30 * time.Second
	// rewriteAfter is how often an unchanged index is written, to record that it is still current.
	rewriteAfter = time.Hour
)

// Index is the list of a provider's versions.
type Index struct {
	Provider layout.Provider
	// Versions are newest first. A version need not have been downloaded.
	Versions []offer.Version
	// Warnings are for the users of the provider, from the origin.
	Warnings []string
	// Fetched is when the origin gave the list; zero for a list of what the bucket has.
	Fetched time.Time
	// Stale says why the list is not a current one; nil if it is.
	Stale error
}

// find returns the entry of a version; nil if there is none.
func (i *Index) find(version string) *offer.Version {
	for n := range i.Versions {
		if i.Versions[n].Version == version {
			return &i.Versions[n]
		}
	}
	return nil
}

// indexed is an index in memory; without Index, that there was none.
type indexed struct {
	*Index
	// failed and reason are the last attempt to get a newer one, if it failed.
	failed time.Time
	reason error
	// written is when the bucket got it.
	written time.Time
	// loaded is when this process read it from the bucket.
	loaded time.Time
	// listed is true if the bucket was listed after the failure, and has nothing.
	listed bool
}

// weight implements heavy.
func (i *indexed) weight() int {
	const version, platform = 200, 64
	n := version
	if i.Index != nil {
		for _, v := range i.Versions {
			n += version + len(v.Warning) + platform*len(v.Platforms)
			for _, protocol := range v.Protocols {
				n += 16 + len(protocol)
			}
		}
		for _, warning := range i.Warnings {
			n += len(warning)
		}
	}
	return n
}

// storedIndex is the document in the bucket.
type storedIndex struct {
	Fetched  time.Time       `json:"fetched"`
	Versions []storedVersion `json:"versions"`
	Warnings []string        `json:"warnings,omitempty"`
}

type storedVersion struct {
	Version   string   `json:"version"`
	Protocols []string `json:"protocols,omitempty"`
	Platforms []string `json:"platforms,omitempty"`
}

func indexKey(p layout.Provider) string {
	return layout.ProviderVersion{Provider: p, Version: "index"}.OwnKey()
}

// Versions returns all versions of a provider, newest first, as [Mirror.Index] does.
func (m *Mirror) Versions(ctx context.Context, p layout.Provider) ([]offer.Version, error) {
	i, err := m.Index(ctx, p)
	if err != nil {
		return nil, err
	}
	return i.Versions, nil
}

// Index returns the index of a provider. While the origin does not give a usable answer, it returns
// the last one it gave, else a list of what the mirror has.
func (m *Mirror) Index(ctx context.Context, p layout.Provider) (*Index, error) {
	if err := m.admit(ctx, p); err != nil {
		return nil, err
	}
	return m.index(ctx, p, m.options.TTL)
}

// index returns an index that is not older than this, if there is one.
func (m *Mirror) index(ctx context.Context, p layout.Provider, ttl time.Duration) (*Index, error) {
	have, err := m.recall(ctx, p)
	if err != nil {
		return nil, err
	}
	now := m.now()
	switch {
	case have.Index != nil && now.Sub(have.Fetched) < ttl:
		return have.Index, nil
	case m.options.Offline:
		return m.instead(ctx, p, have, errOffline)
	case have.reason != nil && now.Sub(have.failed) < rest(have):
		return m.instead(ctx, p, have, have.reason)
	}
	if err := m.refresh(ctx, p, have.Index != nil); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return m.instead(ctx, p, have, err)
	}
	have, _ = m.indexes.get(p)
	if have == nil || have.Index == nil {
		return nil, fmt.Errorf("read the versions of %s: they were forgotten at once. This is a bug in Yuba", p)
	}
	return have.Index, nil
}

var errOffline = errors.New("the mirror works offline and never asks it")

func rest(have *indexed) time.Duration {
	if have.Index == nil {
		return restWithout
	}
	return restWith
}

// recall returns what is known of a provider in memory, or else in the bucket.
func (m *Mirror) recall(ctx context.Context, p layout.Provider) (*indexed, error) {
	have, ok := m.indexes.get(p)
	if m.options.Offline {
		// Only what the bucket has can be installed, and another process may import more.
		if ok && m.now().Sub(have.loaded) < m.options.TTL {
			return have, nil
		}
		return &indexed{}, nil
	}
	if ok {
		return have, nil
	}
	text, err := m.bucket.Get(ctx, indexKey(p), maxIndex)
	if errors.Is(err, blob.ErrNotFound) {
		return &indexed{}, nil
	}
	if err != nil {
		return nil, err
	}
	var stored storedIndex
	if err := json.Unmarshal(text, &stored); err != nil {
		m.log.Warn("the stored index of a provider is damaged", "provider", p.String(), "error", err)
		return &indexed{}, nil
	}
	have = &indexed{Index: &Index{Provider: p, Fetched: stored.Fetched, Warnings: stored.Warnings}, written: stored.Fetched, loaded: m.now()}
	for _, v := range stored.Versions {
		entry := offer.Version{Version: v.Version, Protocols: v.Protocols}
		for _, text := range v.Platforms {
			if platform, err := layout.ParsePlatform(text); err == nil {
				entry.Platforms = append(entry.Platforms, platform)
			}
		}
		have.Versions = append(have.Versions, entry)
	}
	m.indexes.put(p, have)
	return have, nil
}

// refresh asks the origin once for all callers. With an old index a caller does not wait long, and
// the attempt goes on without it.
func (m *Mirror) refresh(ctx context.Context, p layout.Provider, hasOld bool) error {
	key := "index " + p.String()
	work := func(ctx context.Context) error { return m.fetchIndex(ctx, p) }
	if !hasOld {
		return m.flights.Do(ctx, key, work)
	}
	ended := make(chan error, 1)
	go func() {
		working, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), refreshPatience, errors.New("no response in time"))
		defer cancel()
		ended <- m.flights.Do(working, key, work)
	}()
	patience := time.NewTimer(stalePatience)
	defer patience.Stop()
	select {
	case err := <-ended:
		return err
	case <-patience.C:
		err := errors.New("no response in time")
		// The next ones do not wait; the attempt replaces this when it succeeds.
		m.indexes.update(p, func(have *indexed) *indexed {
			if have == nil || have.Index == nil || m.now().Sub(have.Fetched) < m.options.TTL {
				return have
			}
			waited := *have
			waited.failed, waited.reason = m.now(), err
			return &waited
		})
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fetchIndex asks the origin, and remembers its answer or failure.
func (m *Mirror) fetchIndex(ctx context.Context, p layout.Provider) error {
	old, err := m.recall(ctx, p)
	if err != nil {
		return err
	}
	list, warnings, err := m.origins.versions(ctx, p)
	if err != nil {
		if ctx.Err() == nil || old.Index != nil {
			m.indexes.put(p, &indexed{Index: old.Index, failed: m.now(), reason: err, written: old.written})
		}
		return err
	}
	fresh := &indexed{Index: &Index{Provider: p, Versions: newestFirst(list), Warnings: warnings, Fetched: m.now()}, written: old.written}
	if changed(old.Index, fresh.Index) || m.now().Sub(old.written) > rewriteAfter {
		// Without this copy the index is still right; it is missing only if this process ends while
		// the origin is down.
		if err := m.writeIndex(ctx, fresh.Index); err != nil {
			m.log.Warn("the index of a provider was not stored", "provider", p.String(), "error", err)
		} else {
			fresh.written = m.now()
		}
	}
	m.indexes.put(p, fresh)
	return nil
}

func (m *Mirror) writeIndex(ctx context.Context, i *Index) error {
	stored := storedIndex{Fetched: i.Fetched, Versions: []storedVersion{}, Warnings: i.Warnings}
	for _, v := range i.Versions {
		entry := storedVersion{Version: v.Version, Protocols: v.Protocols}
		for _, platform := range v.Platforms {
			entry.Platforms = append(entry.Platforms, platform.String())
		}
		stored.Versions = append(stored.Versions, entry)
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	return m.bucket.Put(ctx, indexKey(i.Provider), bytes.NewReader(text))
}

func changed(old, fresh *Index) bool {
	return old == nil || len(old.Versions) != len(fresh.Versions) || !slices.EqualFunc(old.Versions, fresh.Versions, func(a, b offer.Version) bool {
		return a.Version == b.Version && slices.Equal(a.Protocols, b.Protocols) && slices.Equal(a.Platforms, b.Platforms)
	})
}

func newestFirst(list []offer.Version) []offer.Version {
	parsed := map[string]*semver.Version{}
	for _, v := range list {
		parsed[v.Version], _ = layout.ParseVersion(v.Version) // the caller has parsed them
	}
	slices.SortStableFunc(list, func(a, b offer.Version) int { return parsed[b.Version].Compare(parsed[a.Version]) })
	return slices.CompactFunc(list, func(a, b offer.Version) bool { return a.Version == b.Version })
}

// instead returns an index although the origin gave none: the old one, or what the bucket has.
func (m *Mirror) instead(ctx context.Context, p layout.Provider, have *indexed, reason error) (*Index, error) {
	if have.Index != nil {
		old := *have.Index
		old.Stale = reason
		return &old, nil
	}
	if !have.listed || m.now().Sub(have.failed) >= restWithout {
		list, err := m.inBucket(ctx, p)
		if err != nil {
			return nil, err
		}
		rested := &indexed{failed: m.now(), reason: reason, loaded: m.now(), listed: true}
		if len(list) > 0 {
			rested.Index = &Index{Provider: p, Versions: list, Stale: reason}
		}
		m.indexes.put(p, rested)
		if rested.Index != nil {
			return rested.Index, nil
		}
	}
	if code := status(reason); code == http.StatusNotFound || code == http.StatusGone || errors.Is(reason, errNoRegistry) {
		return nil, &offer.NotFoundError{What: "the provider " + p.String()}
	}
	if errors.Is(reason, errOffline) {
		return nil, &offer.NotFoundError{What: fmt.Sprintf("the provider %s in this mirror, which works offline,", p)}
	}
	return nil, &OriginError{Host: p.Host, What: "read the versions of " + p.String(), Status: status(reason), Err: reason}
}

// inBucket lists the versions of which the bucket has archives.
func (m *Mirror) inBucket(ctx context.Context, p layout.Provider) ([]offer.Version, error) {
	found := map[string]*offer.Version{}
	var list []offer.Version
	for info, err := range m.bucket.List(ctx, layout.ProviderVersion{Provider: p}.Key("")) {
		if err != nil {
			return nil, err
		}
		f, ok := layout.ProviderOfKey(info.Key)
		if !ok || f.Provider != p || f.Platform == (layout.Platform{}) {
			continue
		}
		if found[f.Version] == nil {
			found[f.Version] = &offer.Version{Version: f.Version}
		}
		found[f.Version].Platforms = append(found[f.Version].Platforms, f.Platform)
	}
	for _, v := range found {
		list = append(list, *v)
	}
	return newestFirst(list), nil
}
