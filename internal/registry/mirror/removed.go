// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

const (
	// removedPrefix begins the notes by which the processes of one bucket tell each other what somebody
	// removed. Each is an object of its own, so that two processes do not overwrite each other's.
	removedPrefix = layout.OwnPrefix + "mirror/removed/"
	// removedInterval is how often they are read: less than the minute that the documentation promises.
	removedInterval = 50 * time.Second
	// removedLife is how long they stay: longer than a process can miss them.
	removedLife = time.Hour
	maxRemoved  = 64 << 10
)

// removal is a note of what was removed.
type removal struct {
	Provider string   `json:"provider"`
	Versions []string `json:"versions"`
}

// tellRemoved makes other processes forget what this one removed: their memory would put it back.
func (m *Mirror) tellRemoved(ctx context.Context, p layout.Provider, removed []Entry) error {
	note := removal{Provider: p.String()}
	for _, e := range removed {
		note.Versions = append(note.Versions, e.Version)
	}
	text, err := json.Marshal(note)
	if err != nil {
		return err
	}
	return m.bucket.Put(ctx, removedPrefix+strings.ToLower(rand.Text())+".json", strings.NewReader(string(text)))
}

// hearRemoved forgets what other processes removed since the last call, and deletes old notes. Notes
// from before this process started do not matter to it.
func (m *Mirror) hearRemoved(ctx context.Context) error {
	there := map[string]bool{}
	for info, err := range m.bucket.List(ctx, removedPrefix) {
		if err != nil {
			return err
		}
		if m.now().Sub(info.Modified) > removedLife {
			if err := m.bucket.Delete(ctx, info.Key); err != nil {
				return err
			}
			continue
		}
		if !m.heard[info.Key] {
			if err := m.forgetRemoved(ctx, info.Key); err != nil {
				return err
			}
		}
		there[info.Key] = true
	}
	m.heard = there
	return nil
}

func (m *Mirror) forgetRemoved(ctx context.Context, key string) error {
	text, err := m.bucket.Get(ctx, key, maxRemoved)
	if errors.Is(err, blob.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var note removal
	if err := json.Unmarshal(text, &note); err != nil {
		m.log.Warn("a note of what was removed from the mirror is damaged", "key", key, "error", err)
		return nil
	}
	p, err := layout.ParseProvider(note.Provider)
	if err != nil {
		return nil //nolint:nilerr // no provider has that name
	}
	for _, version := range note.Versions {
		m.releases.forget(layout.ProviderVersion{Provider: p, Version: version})
	}
	m.indexes.forget(p)
	return nil
}
