// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package knowledge keeps what a process knows about the objects of a kind, besides the objects: when it
// last looked, what failed, which result is not recorded yet.
//
// Invariants:
//
//   - A new object of the same name has a new memory.
//   - A memory is only read and changed in a function that its [Of] calls, one at a time.
package knowledge

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Of are the memories M of all objects of a kind. The zero value has none.
type Of[M any] struct {
	mu sync.Mutex
	of map[types.NamespacedName]*entry[M]
}

type entry[M any] struct {
	uid    types.UID
	memory M
}

// With calls f with the memory of an object. Without one, it begins as fresh returns it.
func (m *Of[M]) With(name types.NamespacedName, uid types.UID, fresh func() M, f func(*M)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[types.NamespacedName]*entry[M]{}
	}
	e := m.of[name]
	if e == nil || e.uid != uid {
		e = &entry[M]{uid: uid, memory: fresh()}
		m.of[name] = e
	}
	f(&e.memory)
}

// Having calls f with the memory of an object, if there is one. An empty uid is any object of the name.
func (m *Of[M]) Having(name types.NamespacedName, uid types.UID, f func(*M)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.of[name]; e != nil && (uid == "" || e.uid == uid) {
		f(&e.memory)
	}
}

// Each calls f with every memory, in no order.
func (m *Of[M]) Each(f func(types.NamespacedName, *M)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, e := range m.of {
		f(name, &e.memory)
	}
}

// Forget removes the memory of an object.
func (m *Of[M]) Forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, name)
}
