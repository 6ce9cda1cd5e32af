// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import "sync"

// Locks serialize work by name, such as runs in one working directory: a run that the server gave
// up may still be finishing. Unused names are removed.
type Locks struct {
	mu   sync.Mutex
	held map[string]*nameLock
}

// nameLock is one name's lock; users hold it or wait for it.
type nameLock struct {
	sync.Mutex
	users int
}

// NewLocks returns free locks.
func NewLocks() *Locks { return &Locks{held: map[string]*nameLock{}} }

// try is Lock without waiting; it returns nil if the name is locked.
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

// Lock waits for the name and returns its unlock function.
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
