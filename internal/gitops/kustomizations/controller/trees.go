// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"sync"
	"time"
)

// idleTree is how long an unused tree stays, for other Kustomizations of its source.
const idleTree = 10 * time.Second

// trees are unpacked artifacts by digest, shared by concurrent builds. The zero value is ready.
type trees struct {
	mu   sync.Mutex
	have map[string]*tree
}

// tree is one artifact, which may not be unpacked yet.
type tree struct {
	// ready is closed after path and remove, or err, are set.
	ready  chan struct{}
	path   string
	remove func()
	err    error

	// Guarded by trees.mu.
	users int
	idle  *time.Timer
}

// take returns the path of an artifact's tree, and unpacks it if needed; done ends its use.
func (s *trees) take(ctx context.Context, digest string, unpack func(context.Context) (path string, remove func(), err error)) (path string, done func(), err error) {
	for {
		t, mine := s.join(digest)
		if mine {
			t.path, t.remove, t.err = unpack(ctx)
			close(t.ready)
		}
		select {
		case <-t.ready:
		case <-ctx.Done():
			s.leave(digest, t)
			return "", nil, context.Cause(ctx)
		}
		if t.err == nil {
			return t.path, func() { s.leave(digest, t) }, nil
		}
		s.leave(digest, t)
		// Another caller's cancellation says nothing about the artifact.
		if mine || !errors.Is(t.err, context.Canceled) && !errors.Is(t.err, context.DeadlineExceeded) {
			return "", nil, t.err
		}
	}
}

// join adds a user of the tree; mine says that the caller must unpack it.
func (s *trees) join(digest string) (t *tree, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t = s.have[digest]; t == nil {
		t, mine = &tree{ready: make(chan struct{})}, true
		if s.have == nil {
			s.have = map[string]*tree{}
		}
		s.have[digest] = t
	}
	t.users++
	if t.idle != nil {
		t.idle.Stop()
		t.idle = nil
	}
	return t, mine
}

// leave ends one use. A failed tree is removed at once, an unused one after a while.
func (s *trees) leave(digest string, t *tree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.users--
	select {
	case <-t.ready:
	default: // it is being unpacked
		return
	}
	switch {
	case t.err != nil:
		if s.have[digest] == t {
			delete(s.have, digest)
		}
	case t.users == 0:
		t.idle = time.AfterFunc(idleTree, func() { s.expire(digest, t) })
	}
}

func (s *trees) expire(digest string, t *tree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.users == 0 && s.have[digest] == t {
		delete(s.have, digest)
		t.remove()
	}
}
