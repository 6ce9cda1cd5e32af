// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"maps"
)

const (
	// maxPools limits the pools of one tenant: templates may compute their names.
	maxPools = 64
	// maxPoolName limits a pool's name, which becomes a key of the tenant.
	maxPoolName = 63
)

// Pools are the pools of one registry. They are not for concurrent use.
type Pools struct {
	pools map[string]*pool
	// owned are the integers of each owner, by pool.
	owned map[string]map[string]int64
}

// pool has the used integers.
type pool struct {
	// used counts the owners of an integer: after a restore there may be two.
	used map[int64]int
	// next is the first integer that may be free, by the beginning of the range.
	next map[int64]int64
}

// New returns empty pools.
func New() *Pools {
	return &Pools{pools: map[string]*pool{}, owned: map[string]map[string]int64{}}
}

func (p *Pools) pool(name string) *pool {
	if p.pools[name] == nil {
		p.pools[name] = &pool{used: map[int64]int{}, next: map[int64]int64{}}
	}
	return p.pools[name]
}

// Keep restores the integers of an owner. It may be called for each tenant of the owner: the first
// integer of a pool counts, and the others are not given to other owners.
func (p *Pools) Keep(owner string, numbers map[string]int64) {
	for name, n := range numbers {
		had, ok := p.owned[owner][name]
		if ok && had == n {
			continue
		}
		if !ok {
			p.own(owner, name, n)
		}
		p.pool(name).used[n]++
	}
}

func (p *Pools) own(owner, name string, n int64) {
	if p.owned[owner] == nil {
		p.owned[owner] = map[string]int64{}
	}
	p.owned[owner][name] = n
}

// For allocates for one tenant of an owner. had are the integers that the tenant has.
func (p *Pools) For(owner string, had map[string]int64) *Asking {
	return &Asking{pools: p, owner: owner, numbers: maps.Clone(had), fresh: map[string]int64{}}
}

// Asking allocates for one tenant during one rendering.
type Asking struct {
	pools   *Pools
	owner   string
	numbers map[string]int64
	// fresh are the integers that were free before.
	fresh map[string]int64
}

// Allocate returns the tenant's integer of a pool, or allocates one of the range, ends included.
func (a *Asking) Allocate(name string, smallest, largest int64) (int64, error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	if n, ok := a.numbers[name]; ok {
		return n, nil
	}
	if len(a.numbers) >= maxPools {
		return 0, fmt.Errorf("allocate from pool %q: the tenant has integers of %d pools, which is the limit", name, len(a.numbers))
	}
	n, ok := a.pools.owned[a.owner][name]
	if !ok {
		if smallest > largest {
			return 0, fmt.Errorf("allocate from pool %q: the range from %d to %d is empty", name, smallest, largest)
		}
		if n, ok = a.pools.pool(name).take(smallest, largest); !ok {
			return 0, fmt.Errorf("pool %q has no free integer between %d and %d: existing tenants have them all. Extend the range, or delete tenants",
				name, smallest, largest)
		}
		a.pools.own(a.owner, name, n)
		a.fresh[name] = n
	}
	if a.numbers == nil {
		a.numbers = map[string]int64{}
	}
	a.numbers[name] = n
	return n, nil
}

// Numbers returns the tenant's integers by pool, old and new; nil if it has none.
func (a *Asking) Numbers() map[string]int64 {
	if len(a.numbers) == 0 {
		return nil
	}
	return maps.Clone(a.numbers)
}

// Undo releases the new integers, which are not in use yet. Do not allocate again after it.
func (a *Asking) Undo() {
	for name, n := range a.fresh {
		delete(a.pools.owned[a.owner], name)
		a.pools.pool(name).release(n)
	}
	a.fresh = map[string]int64{}
}

// take finds the smallest free integer of a range.
func (p *pool) take(smallest, largest int64) (int64, bool) {
	n := smallest
	if next, ok := p.next[smallest]; ok {
		n = next
	}
	for ; n <= largest; n++ {
		if p.used[n] == 0 {
			p.used[n]++
			p.next[smallest] = n
			return n, true
		}
		if n == largest {
			// The last one may be the largest integer that there is.
			break
		}
	}
	return 0, false
}

func (p *pool) release(n int64) {
	if p.used[n]--; p.used[n] > 0 {
		return
	}
	delete(p.used, n)
	for smallest, next := range p.next {
		if smallest <= n && n < next {
			p.next[smallest] = n
		}
	}
}

func checkName(name string) error {
	if name == "" || len(name) > maxPoolName {
		return fmt.Errorf("allocate: the name of a pool must have 1 to %d characters; %q has %d", maxPoolName, clip(name), len(name))
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return fmt.Errorf("allocate: the name of a pool may contain letters, digits, hyphens, underscores and dots; %q has others", clip(name))
		}
	}
	return nil
}

// clip keeps a message short.
func clip(name string) string {
	if len(name) > maxPoolName {
		return name[:maxPoolName] + "…"
	}
	return name
}
