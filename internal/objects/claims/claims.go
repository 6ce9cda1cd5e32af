// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"maps"
	"slices"
	"sync"

	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// Place is an object of a cluster. Cluster is empty for the API that this server belongs to.
type Place struct {
	Cluster string
	ID      owned.ID
}

// Force says whether an object may be taken from its holder.
type Force int

// Never waits for the holder, Always takes the object. Once takes it unless the owner lost it to
// force itself, so that two owners do not take it from each other forever.
const (
	Never Force = iota
	Once
	Always
)

// Bid is an owner's claim on an object.
type Bid struct {
	// Labelled is the owner in the object's labels, if that one still wants it; else nil.
	Labelled *owned.Owner
	Force    Force
	// Exists reports whether an owner still exists.
	Exists func(owned.Owner) bool
}

type set map[owned.Owner]bool

func (s *set) add(owner owned.Owner) {
	if *s == nil {
		*s = set{}
	}
	(*s)[owner] = true
}

type claim struct {
	// holder has the object; released gave it up for waiting owners.
	holder, released owned.Owner
	// waiting owners want it, robbed ones lost it to force.
	waiting, robbed set
}

// Book holds the claims of all owners.
type Book struct {
	mu     sync.Mutex
	claims map[Place]*claim
	// of has the claims that each owner holds or waits for.
	of map[owned.Owner]map[Place]*claim
}

// New returns an empty book.
func New() *Book {
	return &Book{claims: map[Place]*claim{}, of: map[owned.Owner]map[Place]*claim{}}
}

// Take gives an object to an owner. If another owner keeps it, Take returns that one, and the owner
// waits.
func (b *Book) Take(at Place, owner owned.Owner, bid Bid) (holder *owned.Owner) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.claims[at]
	if c == nil {
		c = &claim{}
		b.claims[at] = c
	}
	if b.of[owner] == nil {
		b.of[owner] = map[Place]*claim{}
	}
	b.of[owner][at] = c
	nobody, held := owned.Owner{}, c.holder
	if held == nobody && bid.Labelled != nil && *bid.Labelled != c.released {
		held = *bid.Labelled
	}
	switch {
	case held == owner || held == nobody || held == c.holder && !bid.Exists(held):
	case bid.Force == Always:
	case bid.Force == Once && !c.robbed[owner]:
		c.robbed.add(held)
	default:
		c.waiting.add(owner)
		return &held
	}
	if c.holder != owner {
		b.leave(at, c.holder)
	}
	c.holder, c.released = owner, nobody
	delete(c.waiting, owner)
	return nil
}

// Release gives an object up, or stops waiting for it. It returns the owners that wait for an
// object that the owner held.
func (b *Book) Release(at Place, owner owned.Owner) (heirs []owned.Owner) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.release(at, owner)
}

func (b *Book) release(at Place, owner owned.Owner) (heirs []owned.Owner) {
	c := b.of[owner][at]
	if c == nil {
		return nil
	}
	delete(c.waiting, owner)
	if c.holder == owner {
		heirs = slices.Collect(maps.Keys(c.waiting))
		c.holder, c.released, c.robbed = owned.Owner{}, owner, nil
	}
	b.leave(at, owner)
	if c.holder == (owned.Owner{}) && len(c.waiting) == 0 {
		delete(b.claims, at)
	}
	return heirs
}

// leave removes an owner from a claim.
func (b *Book) leave(at Place, owner owned.Owner) {
	if delete(b.of[owner], at); len(b.of[owner]) == 0 {
		delete(b.of, owner)
	}
}

// Heirs returns the owners that wait for an object that the owner, or no owner, holds.
func (b *Book) Heirs(at Place, owner owned.Owner) []owned.Owner {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.claims[at]
	if c == nil || c.holder != owner && c.holder != (owned.Owner{}) {
		return nil
	}
	return slices.Collect(maps.Keys(c.waiting))
}

// Free reports whether no other owner holds an object.
func (b *Book) Free(at Place, owner owned.Owner) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.claims[at]
	return c == nil || c.holder == owner || c.holder == (owned.Owner{})
}

// Want stops waiting for all other objects, and keeps those that the owner holds.
func (b *Book) Want(owner owned.Owner, wanted func(Place) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for at, c := range b.of[owner] {
		if c.holder != owner && !wanted(at) {
			b.release(at, owner)
		}
	}
}

// Keep releases all other objects, and returns the owners that wait for one of them.
func (b *Book) Keep(owner owned.Owner, wanted func(Place) bool) []owned.Owner {
	b.mu.Lock()
	defer b.mu.Unlock()
	heirs := set{}
	for at := range b.of[owner] {
		if !wanted(at) {
			for _, heir := range b.release(at, owner) {
				heirs[heir] = true
			}
		}
	}
	return slices.Collect(maps.Keys(heirs))
}

// Forget releases all objects of an owner, and returns the owners that wait for one of them.
func (b *Book) Forget(owner owned.Owner) []owned.Owner {
	return b.Keep(owner, func(Place) bool { return false })
}
