// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import "sync"

// claims say who of this process's owners has an object, from before it is applied: two that begin at the same moment
// cannot both take it.
type claims struct {
	mu   sync.Mutex
	book map[place]*claim
}

// place is an object of a cluster.
type place struct {
	cluster string
	id      ID
}

type claim struct {
	// owner has the object, released had it and has let go of it for those who wait.
	owner, released Owner
	// waiting would have it, robbed had it.
	waiting, robbed map[Owner]bool
}

// take gives the object to an owner. Its holder is returned when there is one whom it is not taken from.
// labelled is the owner whom the object itself names, if that one still counts on it.
func (c *claims) take(at place, owner Owner, labelled *Owner, force bool, exists func(Owner) bool) (holder *Owner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.book[at]
	if k == nil {
		k = &claim{}
		c.book[at] = k
	}
	held := k.owner
	if held == (Owner{}) && labelled != nil && *labelled != k.released {
		// What a label says is not a claim: whom it names may have let go of the object without our knowledge.
		held = *labelled
	}
	switch {
	case held == owner || held == (Owner{}) || held == k.owner && !exists(held):
	case force && !k.robbed[owner]:
		add(&k.robbed, held)
	default:
		add(&k.waiting, owner)
		return &held
	}
	k.owner, k.released = owner, Owner{}
	delete(k.waiting, owner)
	return nil
}

func add(to *map[Owner]bool, owner Owner) {
	if *to == nil {
		*to = map[Owner]bool{}
	}
	(*to)[owner] = true
}

// release gives an object up, and returns who waits for it.
func (c *claims) release(at place, owner Owner) []Owner {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.book[at]
	if k == nil {
		return nil
	}
	delete(k.waiting, owner)
	if k.owner != owner {
		return nil
	}
	heirs := keys(k.waiting)
	if len(heirs) == 0 {
		delete(c.book, at)
		return nil
	}
	k.owner, k.released, k.robbed = Owner{}, owner, nil
	return heirs
}

// heirs are those who wait for an object of an owner.
func (c *claims) heirs(at place, owner Owner) []Owner {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.book[at]
	if k == nil || k.owner != owner && k.owner != (Owner{}) {
		return nil
	}
	return keys(k.waiting)
}

// forget drops all that an owner waits for, and what it has when all is true; it returns those who waited for that.
func (c *claims) forget(owner Owner, all bool, but func(place) bool) []Owner {
	c.mu.Lock()
	defer c.mu.Unlock()
	heirs := map[Owner]bool{}
	for at, k := range c.book {
		if but != nil && but(at) {
			continue
		}
		delete(k.waiting, owner)
		if all && k.owner == owner {
			for w := range k.waiting {
				heirs[w] = true
			}
			k.owner, k.released, k.robbed = Owner{}, owner, nil
		}
		if k.owner == (Owner{}) && len(k.waiting) == 0 {
			delete(c.book, at)
		}
	}
	return keys(heirs)
}

func keys(m map[Owner]bool) []Owner {
	var out []Owner
	for o := range m {
		out = append(out, o)
	}
	return out
}
