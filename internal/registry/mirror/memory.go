// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import "sync"

// What is kept in memory of indexes and releases, each: their number, and roughly their bytes. The
// index of a large provider has some hundred KiB, a release some dozen.
const (
	maxRemembered = 1000
	maxWeight     = 64 << 20
)

// heavy is what memory limits: a value knows roughly how many bytes it has.
type heavy interface{ weight() int }

// memory is a bounded map. When it is full it forgets any entry: everything in it is in the bucket.
type memory[K comparable, V heavy] struct {
	mu      sync.RWMutex
	entries map[K]weighed[V]
	total   int
}

type weighed[V any] struct {
	value  V
	weight int
}

func (m *memory[K, V]) get(key K) (V, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	entry, ok := m.entries[key]
	return entry.value, ok
}

func (m *memory[K, V]) put(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(key, value)
}

func (m *memory[K, V]) set(key K, value V) {
	m.drop(key)
	weight := value.weight()
	for other := range m.entries {
		if len(m.entries) < maxRemembered && m.total+weight <= maxWeight {
			break
		}
		m.drop(other)
	}
	if m.entries == nil {
		m.entries = map[K]weighed[V]{}
	}
	m.entries[key] = weighed[V]{value, weight}
	m.total += weight
}

// update replaces an entry, if there is one.
func (m *memory[K, V]) update(key K, change func(V) V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, known := m.entries[key]; known {
		m.set(key, change(old.value))
	}
}

func (m *memory[K, V]) forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(key)
}

func (m *memory[K, V]) drop(key K) {
	m.total -= m.entries[key].weight
	delete(m.entries, key)
}
