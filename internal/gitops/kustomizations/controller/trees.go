// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"sync"
	"time"
)

// idleTree is how long a tree stays that nobody builds from: Kustomizations of one source come one after the other.
const idleTree = 10 * time.Second

// trees are unpacked artifacts by their digests. A build only reads its tree, so all that build from one artifact at about
// the same time share one. The zero value is ready.
type trees struct {
	mu   sync.Mutex
	have map[string]*tree
}

// tree is one artifact, unpacked or about to be.
type tree struct {
	// ready is closed when path and remove, or err, are set.
	ready  chan struct{}
	path   string
	remove func()
	err    error

	// Guarded by trees.mu.
	users int
	idle  *time.Timer
}

// take returns the path of an artifact's tree, which unpack makes if nobody has; remove takes it away again. The caller
// says when it is done with it.
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
		// That another gave up says nothing about the artifact.
		if mine || !errors.Is(t.err, context.Canceled) && !errors.Is(t.err, context.DeadlineExceeded) {
			return "", nil, t.err
		}
	}
}

// join makes the caller a user of the tree; mine is true for the one who has to unpack it.
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

// leave ends one use. What could not be unpacked is forgotten at once, the rest when nobody has come back for it.
func (s *trees) leave(digest string, t *tree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.users--
	select {
	case <-t.ready:
	default: // who unpacks it is still there
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
