// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import "sync"

// locks keep two runs out of one working directory. The server never starts two for one stack, but one that it has
// given up may still be finishing.
type locks struct {
	mu   sync.Mutex
	held map[string]*sync.Mutex
}

func newLocks() *locks { return &locks{held: map[string]*sync.Mutex{}} }

// try is lock for a name that nobody should hold yet; it returns nil when somebody does.
func (l *locks) try(name string) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.held[name]
	if m == nil {
		m = &sync.Mutex{}
		l.held[name] = m
	}
	if !m.TryLock() {
		return nil
	}
	return m.Unlock
}

// lock waits for the name and returns what gives it back.
func (l *locks) lock(name string) func() {
	l.mu.Lock()
	m := l.held[name]
	if m == nil {
		m = &sync.Mutex{}
		l.held[name] = m
	}
	l.mu.Unlock()
	m.Lock()
	return m.Unlock
}
