// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"maps"
)

const (
	// maxPools bounds how many pools one tenant asks: templates may compute their names.
	maxPools = 64
	// maxPoolName bounds a pool's name, which becomes a key of the tenant.
	maxPoolName = 63
)

// FullError is the error of who asks a pool that has nothing left in the range.
type FullError struct {
	Pool     string
	Min, Max int64
}

func (e *FullError) Error() string {
	return fmt.Sprintf("pool %q has no integer left between %d and %d: living tenants have them all. Make the range larger, or let tenants go",
		e.Pool, e.Min, e.Max)
}

// Pools are the pools of one registry. They are not for concurrent use.
type Pools struct {
	pools map[string]*pool
	// owned is what each owner has, by pool.
	owned map[string]map[string]int64
}

// pool knows which integers are not free.
type pool struct {
	// used counts the owners of an integer: data that was restored may have two for one.
	used map[int64]int
	// next is, for the beginning of a range, the first integer that may be free: all before it are
	// used.
	next map[int64]int64
}

// New returns pools of which nobody has anything.
func New() *Pools {
	return &Pools{pools: map[string]*pool{}, owned: map[string]map[string]int64{}}
}

func (p *Pools) pool(name string) *pool {
	if p.pools[name] == nil {
		p.pools[name] = &pool{used: map[int64]int{}, next: map[int64]int64{}}
	}
	return p.pools[name]
}

// Keep says what an owner has already. It may be said again for each tenant of the owner: the first
// answer for a pool counts, and nobody else gets any of the others.
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

// For is how one tenant of an owner asks. had is what the tenant itself has already.
func (p *Pools) For(owner string, had map[string]int64) *Asking {
	return &Asking{pools: p, owner: owner, numbers: maps.Clone(had), fresh: map[string]int64{}}
}

// Asking is one tenant that asks, during one rendering.
type Asking struct {
	pools   *Pools
	owner   string
	numbers map[string]int64
	// fresh is what nobody had before.
	fresh map[string]int64
}

// Allocate returns the tenant's integer of a pool. It gives it one of the range, both ends
// included, if it has none.
func (a *Asking) Allocate(name string, smallest, largest int64) (int64, error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	if n, ok := a.numbers[name]; ok {
		return n, nil
	}
	if len(a.numbers) >= maxPools {
		return 0, fmt.Errorf("allocate from pool %q: the tenant has integers of %d pools already, and more is not allowed", name, len(a.numbers))
	}
	n, ok := a.pools.owned[a.owner][name]
	if !ok {
		if smallest > largest {
			return 0, fmt.Errorf("allocate from pool %q: the range from %d to %d has nothing in it", name, smallest, largest)
		}
		if n, ok = a.pools.pool(name).take(smallest, largest); !ok {
			return 0, &FullError{Pool: name, Min: smallest, Max: largest}
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

// Numbers is what the tenant has now, by pool: what it had before, and what it was given since. Nil
// when it has nothing.
func (a *Asking) Numbers() map[string]int64 {
	if len(a.numbers) == 0 {
		return nil
	}
	return maps.Clone(a.numbers)
}

// Undo gives back what was given since: nobody has seen it. The tenant must not ask again.
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
		return fmt.Errorf("allocate: the name of a pool has 1 to %d characters, and %q has %d", maxPoolName, clip(name), len(name))
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return fmt.Errorf("allocate: the name of a pool has letters, digits, hyphens, underscores and dots, and %q has others", clip(name))
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
