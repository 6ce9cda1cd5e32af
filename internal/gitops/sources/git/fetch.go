// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
)

// fetch is a running fetch.
type fetch struct {
	*flight
	wants map[plumbing.Hash]bool
}

// ensure fetches the tree of t if it is missing, and returns its store. Concurrent callers share a
// fetch.
func (m *mirror) ensure(ctx context.Context, t target) (*store, error) {
	s := m.store(true)
	if _, local := m.remote.(*localRemote); local {
		return s, nil
	}
	err := m.join(ctx, s, t.want)
	if !errors.Is(err, errHistory) && !(t.pinned && errors.Is(err, errRefused)) {
		return s, err
	}
	// The server gives out only commits that references name: keep all of them, with their history.
	full := m.store(false)
	if err := m.fetchAll(ctx, full, t); err != nil {
		return nil, err
	}
	return full, nil
}

// join waits until want is fetched. During a fetch it collects objects for the next one. After a
// failed shared fetch it retries alone: another object may have caused the failure.
func (m *mirror) join(ctx context.Context, s *store, want plumbing.Hash) error {
	for alone := false; ; {
		m.mu.Lock()
		if s.has(want) {
			m.mu.Unlock()
			return nil
		}
		f := m.fetching
		switch {
		case f == nil:
			wants := map[plumbing.Hash]bool{want: true}
			if !alone {
				for other := range m.pending {
					wants[other] = true
				}
				m.pending = nil
			}
			f = m.launch(s, wants)
		case !f.wants[want] || !f.join():
			if m.pending == nil {
				m.pending = map[plumbing.Hash]bool{}
			}
			if !alone {
				m.pending[want] = true
			}
			m.mu.Unlock()
			select {
			case <-f.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		m.mu.Unlock()
		err := f.wait(ctx)
		if err != nil && (len(f.wants) == 1 || ctx.Err() != nil) {
			return err
		}
		alone = err != nil
	}
}

// launch begins a fetch. The caller holds m.mu.
func (m *mirror) launch(s *store, wants map[plumbing.Hash]bool) *fetch {
	f := &fetch{wants: wants}
	f.flight = launch(fetchLimit, func(ctx context.Context) error {
		err := guarded(func() error { return m.fetch(ctx, s, wants) })
		m.mu.Lock()
		m.fetching = nil
		m.mu.Unlock()
		return err
	})
	m.fetching = f
	return f
}

// fetch fetches commits with their trees, and then marks them as complete.
func (m *mirror) fetch(ctx context.Context, s *store, wants map[plumbing.Hash]bool) error {
	tips, err := s.tips()
	if isDamage(err) || len(tips) >= maxTips {
		if err = m.discard(s); err == nil {
			tips = nil
		}
	}
	if err != nil {
		return err
	}
	q := ask{shallow: true, haves: haves(tips), thin: len(tips) > 0}
	for want := range wants {
		q.wants = append(q.wants, want)
	}
	if err := m.transfer(ctx, s, q); err != nil {
		return err
	}
	return m.complete(ctx, s, q.wants)
}

// transfer requests a pack and adds it to the store.
func (m *mirror) transfer(ctx context.Context, s *store, q ask) error {
	given, err := m.given(ctx)
	if err != nil {
		return err
	}
	talk, hangUp := context.WithCancelCause(ctx)
	defer hangUp(nil)
	watch := time.AfterFunc(m.all.idle, func() { hangUp(errSilent) })
	defer watch.Stop()
	_, stateless := m.remote.(*httpRemote)
	body, err := m.remote.upload(talk, given, func(given *advert) ([]byte, error) {
		for _, want := range q.wants {
			// Over HTTP, servers have no memory and accept every object that references lead to.
			if !stateless && !given.gives(want) {
				return nil, errRefused
			}
		}
		return q.encode(given)
	})
	if err == nil {
		defer body.Close()
		err = m.receive(ctx, s, q, body, watch)
	}
	if errors.Is(context.Cause(talk), errSilent) {
		return errSilent
	}
	var said *pktline.ErrorLine
	if errors.As(err, &said) {
		return errors.Join(errRefused, err) // servers express it differently
	}
	return err
}

func (m *mirror) receive(ctx context.Context, s *store, q ask, body io.Reader, watch *time.Timer) error {
	if err := s.prepare(); err != nil {
		return err
	}
	limits := packLimits{bytes: m.all.options.MaxPack, object: m.all.options.MaxObject}
	pack, err := openPack(&watched{body, watch, m.all.idle}, q.shallow)
	if err != nil {
		if session, can := body.(interface{ explain(error) error }); can {
			err = session.explain(err)
		}
		return err
	}
	return s.receive(ctx, pack, q.thin, limits, func(ctx context.Context) (func(), error) {
		watch.Stop() // the pack is complete
		return m.all.slot(ctx)
	})
}

// watched resets a timer with all data that it reads.
type watched struct {
	r     io.Reader
	timer *time.Timer
	idle  time.Duration
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	if n > 0 {
		w.timer.Reset(w.idle)
	}
	return n, err
}

// given returns the result of the last look, however old: capabilities seldom change.
func (m *mirror) given(ctx context.Context) (*advert, error) {
	m.mu.Lock()
	given := m.looked
	m.mu.Unlock()
	if given != nil {
		return given, nil
	}
	return m.list(ctx, 0)
}

// complete marks fetched objects. Their trees are verified later, when they are read.
func (m *mirror) complete(ctx context.Context, s *store, wants []plumbing.Hash) error {
	m.files.RLock()
	defer m.files.RUnlock()
	o := openObjects(s.dir)
	defer o.Close()
	for _, want := range wants {
		if err := ctx.Err(); err != nil {
			return err
		}
		commit, err := o.peel(want)
		if err != nil {
			return err
		}
		if _, err := o.root(commit); err != nil {
			return err
		}
		if err := s.mark(want, commit); err != nil {
			return err
		}
	}
	return nil
}

// fetchAll fetches all branches and tags, and fails if t is not among them.
func (m *mirror) fetchAll(ctx context.Context, s *store, t target) error {
	select {
	case m.history <- struct{}{}:
		defer func() { <-m.history }()
	case <-ctx.Done():
		return ctx.Err()
	}
	given, err := m.given(ctx)
	if err != nil {
		return err
	}
	tips, err := s.tips()
	if err != nil {
		return err
	}
	q := ask{haves: haves(tips)}
	peeled := map[plumbing.Hash]plumbing.Hash{}
	for name, hash := range given.refs {
		if !strings.HasPrefix(name, "refs/heads/") && !strings.HasPrefix(name, "refs/tags/") {
			continue
		}
		if _, twice := peeled[hash]; twice || s.has(hash) {
			continue
		}
		peeled[hash] = hash
		if commit, annotated := given.peeled[name]; annotated {
			peeled[hash] = commit
		}
		q.wants = append(q.wants, hash)
	}
	if len(q.wants) > 0 {
		if err := m.transfer(ctx, s, q); err != nil {
			return err
		}
		for want, commit := range peeled {
			if err := s.mark(want, commit); err != nil {
				return err
			}
		}
	}
	m.files.RLock()
	defer m.files.RUnlock()
	o := openObjects(s.dir)
	defer o.Close()
	if o.storage.HasEncodedObject(t.want) != nil {
		return wrongRef("no branch or tag leads to the commit %s", t.want)
	}
	return nil
}
