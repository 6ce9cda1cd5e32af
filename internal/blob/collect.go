// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// artifactPrefix is what the keys of artifacts start with.
const artifactPrefix = "artifacts/sha256/"

// uses remembers when artifacts were last stored, looked for or opened by this process, so that none is deleted between
// being found in the store and being referred to.
type uses struct {
	mu sync.Mutex
	at map[string]time.Time
}

// use notes a use. It comes before the look into the store: whoever deletes asks for uses and deletes in one step.
func (u *uses) use(digest string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = map[string]time.Time{}
	}
	u.at[digest] = now
}

// removeUnused calls remove unless the artifact was used since a time; nobody can begin to use it meanwhile.
func (u *uses) removeUnused(digest string, since time.Time, remove func() error) (bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.at[digest].Before(since) {
		return false, nil
	}
	delete(u.at, digest)
	err := remove()
	return err == nil, err
}

// forget drops uses from before a time.
func (u *uses) forget(before time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for digest, at := range u.at {
		if at.Before(before) {
			delete(u.at, digest)
		}
	}
}

// Collected is what a collection did.
type Collected struct {
	// Kept artifacts are referred to or were used lately; Deleted ones are gone, and Bytes is what they took.
	Kept, Deleted int
	Bytes         int64
}

// CollectArtifacts deletes the artifacts that are in nobody's hand: not referred to, and neither written nor, by this
// process, stored again, looked for or opened since before. referred is asked about each digest; it answers from a list
// that was complete when the collection began. Whatever is stored while the collection goes on is safe.
func (s *Store) CollectArtifacts(ctx context.Context, referred func(digest string) bool, before time.Time) (Collected, error) {
	var done Collected
	defer s.uses.forget(before)
	for info, err := range s.List(ctx, artifactPrefix) {
		if err != nil {
			return done, fmt.Errorf("collect artifacts: %w", err)
		}
		digest := digestPrefix + strings.TrimPrefix(info.Key, artifactPrefix)
		if key, err := ArtifactKey(digest); err != nil || key != info.Key {
			continue // not ours
		}
		if !info.Modified.Before(before) || referred(digest) {
			done.Kept++
			continue
		}
		removed, err := s.uses.removeUnused(digest, before, func() error { return s.Delete(ctx, info.Key) })
		switch {
		case err != nil:
			return done, fmt.Errorf("collect artifacts: %w", err)
		case removed:
			done.Deleted++
			done.Bytes += info.Size
		default:
			done.Kept++
		}
	}
	return done, nil
}
