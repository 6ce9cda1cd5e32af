// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

const (
	// usesKey is the object with the last uses of archives.
	usesKey = layout.OwnPrefix + "mirror/uses.json"
	maxUses = 64 << 20
	// usesInterval is how often they are written. What a crash loses makes archives look unused for
	// so long at most.
	usesInterval = 10 * time.Minute
	// sizeInterval is how often the size is computed, also without downloads: other processes store
	// archives, too. Soon after a download, sizeDelay.
	sizeInterval = time.Hour
	sizeDelay    = 5 * time.Second
)

// Run records the uses of archives, evicts those above the limit and forgets what other processes
// removed, until ctx ends.
func (m *Mirror) Run(ctx context.Context) error {
	if err := m.loadUses(ctx); err != nil {
		m.log.Warn("the last uses of mirrored providers are unknown", "error", err)
	}
	save, size, removed := time.NewTicker(usesInterval), time.NewTicker(sizeInterval), time.NewTicker(removedInterval)
	defer save.Stop()
	defer size.Stop()
	defer removed.Stop()
	for {
		select {
		case <-ctx.Done():
			// The last uses are written with a context of their own: ctx has ended.
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			return m.saveUses(ending)
		case <-save.C:
			if err := m.saveUses(ctx); err != nil {
				m.log.Warn("the last uses of mirrored providers were not stored", "error", err)
			}
			continue
		case <-removed.C:
			if err := m.hearRemoved(ctx); err != nil && ctx.Err() == nil {
				m.log.Warn("what other servers removed from the mirror is unknown", "error", err)
			}
			continue
		case <-m.size:
			size.Reset(sizeDelay)
			continue
		case <-size.C:
			size.Reset(sizeInterval)
		}
		if evicted, err := m.Evict(ctx); err != nil {
			m.log.Warn("evicting mirrored providers", "error", err)
		} else if len(evicted) > 0 {
			m.log.Info("evicted mirrored providers that were unused for longest", "archives", len(evicted))
		}
	}
}

// grown tells Run that an archive was stored.
func (m *Mirror) grown() {
	select {
	case m.size <- struct{}{}:
	default:
	}
}

func (m *Mirror) loadUses(ctx context.Context) error {
	text, err := m.get(ctx, usesKey, maxUses)
	if text == nil || err != nil {
		return err
	}
	var last map[string]time.Time
	if err := json.Unmarshal(text, &last); err != nil {
		return fmt.Errorf("read %s: %w", usesKey, err)
	}
	m.uses.merge(last)
	return nil
}

// saveUses writes the last uses if there are new ones, after reading those of other processes.
func (m *Mirror) saveUses(ctx context.Context) error {
	if _, changed := m.uses.all(); !changed {
		return nil
	}
	if err := m.loadUses(ctx); err != nil {
		return err
	}
	last, _ := m.uses.all()
	text, err := json.Marshal(last)
	if err != nil {
		return err
	}
	m.uses.saved()
	return m.bucket.Put(ctx, usesKey, bytes.NewReader(text))
}

// Evict deletes archives, those unused for longest first, until all together are within nine tenths
// of the limit, and returns their keys. Releases and indexes stay, so that an evicted archive is
// downloaded again when somebody asks for it.
func (m *Mirror) Evict(ctx context.Context) ([]string, error) {
	if m.options.Limit <= 0 {
		return nil, nil
	}
	if err := m.loadUses(ctx); err != nil {
		m.log.Warn("the last uses of mirrored providers are unknown", "error", err)
	}
	archives, total, err := m.archives(ctx)
	if err != nil || total <= m.options.Limit {
		return nil, err
	}
	last, _ := m.uses.all()
	used := func(a blob.Info) time.Time {
		if at := last[a.Key]; at.After(a.Modified) {
			return at
		}
		return a.Modified
	}
	slices.SortStableFunc(archives, func(a, b blob.Info) int {
		return cmp.Or(used(a).Compare(used(b)), cmp.Compare(a.Key, b.Key))
	})
	var evicted []string
	for _, a := range archives {
		if total <= m.options.Limit/10*9 {
			break
		}
		gone, err := m.drop(ctx, a.Key)
		if err != nil {
			return evicted, err
		}
		if gone {
			total -= a.Size
			evicted = append(evicted, a.Key)
		}
	}
	return evicted, nil
}

// archives lists all archives of the mirror, and their size.
func (m *Mirror) archives(ctx context.Context) (list []blob.Info, total int64, err error) {
	for info, err := range m.bucket.List(ctx, layout.MirrorPrefix) {
		if err != nil {
			return nil, 0, err
		}
		if f, ok := layout.ProviderOfKey(info.Key); ok && f.Platform != (layout.Platform{}) {
			list = append(list, info)
			total += info.Size
		}
	}
	return list, total, nil
}

// drop deletes an archive unless it is being read.
func (m *Mirror) drop(ctx context.Context, key string) (gone bool, err error) {
	if !m.uses.begin(key) {
		return false, nil
	}
	defer func() { m.uses.end(key, gone) }()
	if err := m.bucket.Delete(ctx, key); err != nil && !errors.Is(err, blob.ErrNotFound) {
		return false, err
	}
	return true, nil
}
