// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// Callers bound what they wait for. These bound what goes on because there is always another one
// who waits.
const (
	lookLimit  = 10 * time.Minute
	fetchLimit = time.Hour
	// idleLimit is how long a server may be silent in the middle of a pack.
	idleLimit = 5 * time.Minute
)

// mirror is what this machine keeps of an upstream.
type mirror struct {
	all    *Mirrors
	key    string
	dir    string
	up     Upstream
	remote remote

	// files is held for reading while objects are read, for writing while a store is thrown away.
	files sync.RWMutex

	// history is held by the one who fetches with all history.
	history chan struct{}

	mu       sync.Mutex
	used     time.Time
	looked   *advert   // what the last look found
	lookedAt time.Time // when that look began
	failed   error     // why the last look failed, nil when it did not
	failedAt time.Time // when it ended
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

// sharedFailure is how long a failure is told to others who come, instead of asking again. It is
// less than anybody waits before trying again.
const sharedFailure = time.Second

// list returns the references as they were at most maxAge ago: a look that began earlier does not
// do, even if it is still going on. Whoever is content with an earlier look is content with its
// failure, too, if it has only just failed: a hundred sources of an upstream that is away are not a
// hundred attempts.
func (m *mirror) list(ctx context.Context, maxAge time.Duration) (*advert, error) {
	oldest := time.Now().Add(-maxAge)
	for {
		m.mu.Lock()
		// What was found before a look failed is no answer any more to the question what there is
		// now.
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
			// It began too early, or nobody waits for it any more.
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

// look asks the upstream.
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
	// That nobody waited any more says nothing about the upstream.
	if !errors.Is(err, context.Canceled) {
		// Whoever was told of the failure waits longer and longer.
		news = m.failed != nil && err == nil
		m.failed, m.failedAt = err, time.Now()
	}
	if err == nil {
		news = news || m.looked != nil && !m.looked.equal(given)
		m.looked, m.lookedAt = given, started
	}
	m.mu.Unlock()
	if news {
		m.all.options.News(m.key)
	}
	return err
}

// forget makes the next look ask the upstream.
func (m *mirror) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lookedAt = time.Time{}
}

// with calls read with the objects that t leads to. What is missing is fetched, and what turns out
// to be damaged is thrown away and fetched anew, once.
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

// discard throws stores away.
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
