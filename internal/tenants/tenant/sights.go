// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"maps"
	"slices"
	"sync"

	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/objects/ready"
)

// sight is an object as a pass saw it.
type sight struct {
	print owned.Print
	ready ready.Readiness
}

// sights are the objects that the last passes saw. A change that makes no difference to these
// requests no pass.
type sights struct {
	mu   sync.Mutex
	seen map[owned.Owner]map[place]sight
}

func newSights() *sights { return &sights{seen: map[owned.Owner]map[place]sight{}} }

// set replaces a tenant's sights; nil forgets them.
func (s *sights) set(owner owned.Owner, seen map[place]sight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seen == nil {
		delete(s.seen, owner)
		return
	}
	s.seen[owner] = seen
}

// add records an object after a write.
func (s *sights) add(owner owned.Owner, at place, saw sight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[owner] == nil {
		s.seen[owner] = map[place]sight{}
	}
	s.seen[owner][at] = saw
}

// of is an object as the last pass saw it.
func (s *sights) of(owner owned.Owner, at place) (saw sight, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	saw, known = s.seen[owner][at]
	return saw, known
}

// leave forgets the objects in a cluster.
func (s *sights) leave(owner owned.Owner, cluster string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.seen[owner], func(at place, _ sight) bool { return at.cluster == cluster })
}

// interests are the tenants to wake when something else changes: an object that they read, or the
// kinds of an API group.
type interests[K comparable] struct {
	mu sync.Mutex
	of map[owned.Owner][]K
	by map[K]map[owned.Owner]bool
}

func newInterests[K comparable]() *interests[K] {
	return &interests[K]{of: map[owned.Owner][]K{}, by: map[K]map[owned.Owner]bool{}}
}

// set replaces the interests of a tenant.
func (n *interests[K]) set(owner owned.Owner, keys []K) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, key := range n.of[owner] {
		if delete(n.by[key], owner); len(n.by[key]) == 0 {
			delete(n.by, key)
		}
	}
	if delete(n.of, owner); len(keys) > 0 {
		n.of[owner] = keys
	}
	for _, key := range keys {
		if n.by[key] == nil {
			n.by[key] = map[owned.Owner]bool{}
		}
		n.by[key][owner] = true
	}
}

// in lists the tenants interested in a key.
func (n *interests[K]) in(key K) []owned.Owner {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.by[key]))
}
