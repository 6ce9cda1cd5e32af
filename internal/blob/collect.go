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

// artifactPrefix begins the keys of artifacts.
const artifactPrefix = "artifacts/sha256/"

// uses records when this process last stored, looked up or opened each artifact, so that a
// collection does not delete one that is about to be referred to.
type uses struct {
	mu sync.Mutex
	at map[string]time.Time
}

// use records a use. Call it before accessing the store: removeUnused checks and deletes in one
// step.
func (u *uses) use(digest string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = map[string]time.Time{}
	}
	u.at[digest] = now
}

// removeUnused calls remove unless the artifact was used since the given time. Nobody can start to
// use it meanwhile.
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

// forget drops uses before a time.
func (u *uses) forget(before time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for digest, at := range u.at {
		if at.Before(before) {
			delete(u.at, digest)
		}
	}
}

// Collected is the result of a collection.
type Collected struct {
	// Kept artifacts are referred to or recently used. Deleted ones are gone; Bytes is their size.
	Kept, Deleted int
	Bytes         int64
}

// CollectArtifacts deletes artifacts that are not referred to, and were not written, or used by
// this process, since before. referred must answer from a list that was complete when it began.
func (s *Store) CollectArtifacts(ctx context.Context, referred func(digest string) bool, before time.Time) (Collected, error) {
	var done Collected
	defer s.uses.forget(before)
	for info, err := range s.List(ctx, artifactPrefix) {
		if err != nil {
			return done, fmt.Errorf("collect artifacts: %w", err)
		}
		digest := digestPrefix + strings.TrimPrefix(info.Key, artifactPrefix)
		if key, err := ArtifactKey(digest); err != nil || key != info.Key {
			continue // not an artifact
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
