// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
)

// Entry is a release of which the mirror has archives.
type Entry struct {
	Provider  string    `json:"provider"`
	Version   string    `json:"version"`
	Platforms []string  `json:"platforms"`
	Size      int64     `json:"size"`
	Stored    time.Time `json:"stored"`
	// Used is the last use of any of the archives; zero if it is unknown.
	Used time.Time `json:"used,omitzero"`
}

// List lists the releases of which the bucket has archives. It lists the bucket.
func (m *Mirror) List(ctx context.Context) ([]Entry, error) {
	archives, _, err := m.archives(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.loadUses(ctx); err != nil {
		return nil, err
	}
	last, _ := m.uses.all()
	found := map[layout.ProviderVersion]*Entry{}
	list := []Entry{}
	for _, info := range archives {
		f, _ := layout.ProviderOfKey(info.Key) // archives parsed it
		e := found[f.ProviderVersion]
		if e == nil {
			e = &Entry{Provider: f.Provider.String(), Version: f.Version}
			found[f.ProviderVersion] = e
		}
		e.Platforms = append(e.Platforms, f.Platform.String())
		e.Size += info.Size
		if info.Modified.After(e.Stored) {
			e.Stored = info.Modified
		}
		if used := last[info.Key]; used.After(e.Used) {
			e.Used = used
		}
	}
	for _, e := range found {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), compareVersions(b.Version, a.Version))
	})
	return list, nil
}

func compareVersions(a, b string) int {
	one, errA := layout.ParseVersion(a)
	other, errB := layout.ParseVersion(b)
	if errA != nil || errB != nil {
		return cmp.Compare(a, b)
	}
	return one.Compare(other)
}

// Remove deletes a release, or with an empty version all of a provider, and returns what it deleted.
// What was removed is downloaded again when somebody asks for it. Other processes that share the bucket
// forget it within a minute, see [Mirror.Run].
func (m *Mirror) Remove(ctx context.Context, p layout.Provider, version string) ([]Entry, error) {
	all, err := m.List(ctx)
	if err != nil {
		return nil, err
	}
	removed := slices.DeleteFunc(slices.Clone(all), func(e Entry) bool {
		return e.Provider != p.String() || version != "" && e.Version != version
	})
	if len(removed) == 0 {
		none := &offer.NotFoundError{What: strings.TrimSuffix(fmt.Sprintf("%s@%s", p, version), "@") + " in the mirror"}
		for _, e := range all {
			if e.Provider == p.String() {
				none.Known = append(none.Known, e.Version)
			}
		}
		return nil, none
	}
	for _, e := range removed {
		if err := m.removeRelease(ctx, layout.ProviderVersion{Provider: p, Version: e.Version}, e.Platforms); err != nil {
			return nil, err
		}
	}
	if m.indexes.forget(p); version == "" {
		if err := m.bucket.Delete(ctx, indexKey(p)); err != nil {
			return nil, err
		}
	}
	return removed, m.tellRemoved(ctx, p, removed)
}

// removeRelease deletes the archives first: without its sums an archive would be of no use.
func (m *Mirror) removeRelease(ctx context.Context, v layout.ProviderVersion, platforms []string) error {
	defer m.lock(v.String())()
	var keys []string
	for _, name := range platforms {
		if p, err := layout.ParsePlatform(name); err == nil {
			keys = append(keys, v.Key(v.Archive(p)))
		}
	}
	for _, key := range append(keys, v.OwnKey(), v.Key(v.Signature()), v.Key(v.Sums())) {
		if err := m.bucket.Delete(ctx, key); err != nil {
			return err
		}
		m.checked.forget(key)
	}
	m.releases.forget(v)
	return nil
}
