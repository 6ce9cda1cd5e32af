// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// Index has the entries of all stacks. It is safe for concurrent use.
type Index struct {
	mu sync.RWMutex
	// entries are by namespace and name: of two stacks of one name, the older is gone.
	entries map[name]Entry
	// early are the runs that ended before the stored entries were loaded.
	early  []Run
	loaded bool
}

type name struct{ namespace, name string }

func nameOf(s Stack) name { return name{s.Namespace, s.Name} }

// maxEarly limits the runs that are kept until the stored entries are loaded, which takes seconds.
const maxEarly = 100_000

// NewIndex returns an empty index.
func NewIndex() *Index { return &Index{entries: map[name]Entry{}} }

// Load adds the stored entries, and then the runs that have ended meanwhile. It returns the entries
// that these runs changed.
func (x *Index) Load(stored []Entry) (changed []Entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.entries = map[name]Entry{}
	for _, e := range stored {
		x.entries[nameOf(e.Stack)] = e
	}
	different := map[name]bool{}
	for _, r := range x.early {
		if x.take(r) {
			different[nameOf(r.Stack)] = true
		}
	}
	for n := range different {
		changed = append(changed, x.entries[n])
	}
	x.early, x.loaded = nil, true
	return changed
}

// Complete reports whether the stored entries are loaded. Before that, answers may lack some.
func (x *Index) Complete() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.loaded
}

// Ended takes the result of a run. It returns the stack's entry, and whether it must be stored: its
// sets have changed, and the stored entries are loaded.
func (x *Index) Ended(r Run) (e Entry, changed bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.loaded && len(x.early) < maxEarly {
		x.early = append(x.early, r)
	}
	changed = x.take(r) && x.loaded
	return x.entries[nameOf(r.Stack)], changed
}

// take applies a run. The lock is held.
func (x *Index) take(r Run) (changed bool) {
	n := nameOf(r.Stack)
	before := x.entries[n]
	if before.Stack.UID != r.Stack.UID {
		before = Entry{}
	}
	if r.Finished.Before(before.LastRunAt) {
		return false
	}
	x.entries[n], changed = before.after(r)
	return changed
}

// Forget drops a deleted stack.
func (x *Index) Forget(s Stack) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := nameOf(s)
	if have, there := x.entries[n]; there && have.Stack.UID == s.UID {
		delete(x.entries, n)
	}
	x.early = slices.DeleteFunc(x.early, func(r Run) bool { return r.Stack == s })
}

// Entry returns what is known about a stack.
func (x *Index) Entry(namespace, stack string) (Entry, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, ok := x.entries[name{namespace, stack}]
	return e, ok
}

// all returns the entries that pass, sorted by name.
func (x *Index) all(pass func(namespace string) bool) []Entry {
	x.mu.RLock()
	list := make([]Entry, 0, len(x.entries))
	for e := range maps.Values(x.entries) {
		if pass(e.Stack.Namespace) {
			list = append(list, e)
		}
	}
	x.mu.RUnlock()
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Stack.Namespace, b.Stack.Namespace), cmp.Compare(a.Stack.Name, b.Stack.Name))
	})
	return list
}

// Stacks returns the names of all stacks.
func (x *Index) Stacks() []Stack {
	var list []Stack
	for _, e := range x.all(func(string) bool { return true }) {
		list = append(list, e.Stack)
	}
	return list
}
