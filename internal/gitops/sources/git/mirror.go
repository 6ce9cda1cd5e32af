// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	// lookLimit and fetchLimit end operations that new callers keep joining.
	lookLimit  = 10 * time.Minute
	fetchLimit = time.Hour
	// idleLimit is the longest pause of a server in the middle of a pack.
	idleLimit = 5 * time.Minute
)

// mirror is the local copy of an upstream.
type mirror struct {
	all    *Mirrors
	key    string
	dir    string
	up     Upstream
	remote remote

	// files is held for reading to read objects, for writing to remove a store.
	files sync.RWMutex

	// history is held by a fetch with the whole history.
	history chan struct{}

	mu       sync.Mutex
	used     time.Time
	looked   *advert   // result of the last successful look
	lookedAt time.Time // when that look began
	failed   error     // error of the last look; nil if it succeeded
	failedAt time.Time // when that look ended
	looking  *flight
	fetching *fetch
	pending  map[plumbing.Hash]bool
}

func (m *mirror) store(shallow bool) *store {
	if local, is := m.remote.(*localRemote); is {
		return &store{dir: local.git}
	}
	name := "full"
	if shallow {
		name = "shallow"
	}
	return &store{dir: filepath.Join(m.dir, name), shallow: shallow}
}

// sharedFailure is how long callers share a failure. It is shorter than every delay of a retry.
const sharedFailure = time.Second

// list returns the references as they were at most maxAge ago, from a look that began since then.
// Callers that accept an earlier look also share its failure for a moment, so that many sources of
// an unavailable upstream need one attempt.
func (m *mirror) list(ctx context.Context, maxAge time.Duration) (*advert, error) {
	oldest := time.Now().Add(-maxAge)
	for {
		m.mu.Lock()
		// After a failure, the earlier result does not count.
		if m.looked != nil && m.failed == nil && !m.lookedAt.Before(oldest) {
			defer m.mu.Unlock()
			return m.looked, nil
		}
		if maxAge > 0 && m.failed != nil && time.Since(m.failedAt) < sharedFailure {
			defer m.mu.Unlock()
			return nil, m.failed
		}
		f := m.looking
		mine := f == nil
		if mine {
			f = launch(lookLimit, m.look)
			m.looking = f
		}
		joined := mine || !f.started.Before(oldest) && f.join()
		m.mu.Unlock()
		if !joined {
			// It began too early, or was cancelled.
			select {
			case <-f.done:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			continue
		}
		if err := f.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// look queries the upstream.
func (m *mirror) look(ctx context.Context) error {
	started := time.Now()
	var given *advert
	err := guarded(func() (err error) {
		given, err = m.remote.list(ctx)
		return err
	})
	m.mu.Lock()
	m.looking = nil
	news := false
	// A cancelled look says nothing about the upstream.
	if !errors.Is(err, context.Canceled) {
		// Sources that failed wait longer and longer: tell them that the upstream responds again.
		news = m.failed != nil && err == nil
		m.failed, m.failedAt = err, time.Now()
	}
	if err == nil {
		news = news || m.looked != nil && !maps.Equal(m.looked.refs, given.refs)
		m.looked, m.lookedAt = given, started
	}
	m.mu.Unlock()
	if news {
		m.all.options.News(m.key)
	}
	return err
}

// forget makes the next look query the upstream.
func (m *mirror) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lookedAt = time.Time{}
}

// with calls read with the objects of t. It fetches missing objects, and once removes a damaged
// store and fetches again.
func (m *mirror) with(ctx context.Context, t target, read func(*objects) error) error {
	for attempt := 0; ; attempt++ {
		s, err := m.ensure(ctx, t)
		if err == nil {
			err = m.read(ctx, s, read)
		}
		if _, local := m.remote.(*localRemote); local || attempt > 0 || !isDamage(err) {
			if errors.Is(err, errRefused) {
				m.forget()
			}
			return err
		}
		if err := m.discard(m.store(true), m.store(false)); err != nil {
			return err
		}
	}
}

func (m *mirror) read(ctx context.Context, s *store, read func(*objects) error) error {
	free, err := m.all.slot(ctx)
	if err != nil {
		return err
	}
	defer free()
	m.files.RLock()
	defer m.files.RUnlock()
	o := openObjects(s.dir)
	return errors.Join(guarded(func() error { return read(o) }), o.Close())
}

// discard removes stores.
func (m *mirror) discard(stores ...*store) error {
	m.files.Lock()
	defer m.files.Unlock()
	for _, s := range stores {
		if err := os.RemoveAll(s.dir); err != nil {
			return fmt.Errorf("remove a damaged mirror: %w", err)
		}
	}
	return nil
}
