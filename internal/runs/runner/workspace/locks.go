// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import "sync"

// Locks keep two runs out of one working directory, and from doing the same twice. The server never starts two for one
// stack, but one that it has given up may still be finishing. A name that nobody holds or waits for is not kept.
type Locks struct {
	mu   sync.Mutex
	held map[string]*nameLock
}

// nameLock is one name's lock; users hold it or wait for it.
type nameLock struct {
	sync.Mutex
	users int
}

// NewLocks are locks that nobody holds.
func NewLocks() *Locks { return &Locks{held: map[string]*nameLock{}} }

// try is lock for a name that nobody should hold yet; it returns nil when somebody does.
func (l *Locks) try(name string) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[name] != nil {
		return nil
	}
	n := &nameLock{users: 1}
	n.Lock()
	l.held[name] = n
	return func() { l.unlock(name, n) }
}

// Lock waits for the name and returns what gives it back.
func (l *Locks) Lock(name string) func() {
	l.mu.Lock()
	n := l.held[name]
	if n == nil {
		n = &nameLock{}
		l.held[name] = n
	}
	n.users++
	l.mu.Unlock()
	n.Lock()
	return func() { l.unlock(name, n) }
}

func (l *Locks) unlock(name string, n *nameLock) {
	l.mu.Lock()
	if n.users--; n.users == 0 {
		delete(l.held, name)
	}
	l.mu.Unlock()
	n.Unlock()
}
