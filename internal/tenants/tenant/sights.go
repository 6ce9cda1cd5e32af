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

// sights are the objects of all tenants as their last passes saw them. A change that leaves an
// object as it was seen requests no pass.
type sights struct {
	mu   sync.Mutex
	seen map[owned.Owner]map[place]sight
}

func newSights() *sights { return &sights{seen: map[owned.Owner]map[place]sight{}} }

// set replaces what was seen of a tenant's objects; nil forgets it.
func (s *sights) set(owner owned.Owner, seen map[place]sight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seen == nil {
		delete(s.seen, owner)
		return
	}
	s.seen[owner] = seen
}

// add records one object as it was written.
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

// interests know which tenants have to be woken when something changes that is not theirs: an
// object that they read, or an API group that lacks a kind.
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

// in lists the tenants that are interested in something.
func (n *interests[K]) in(key K) []owned.Owner {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.by[key]))
}
