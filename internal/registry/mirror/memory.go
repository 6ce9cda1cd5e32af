// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import "sync"

// maxRemembered limits what is kept in memory of indexes and releases, each. The index of a large
// provider has some hundred KiB, a release some dozen.
const maxRemembered = 1000

// memory is a bounded map. When it is full it forgets any entry: everything in it is in the bucket.
type memory[K comparable, V any] struct {
	mu      sync.RWMutex
	entries map[K]V
}

func (m *memory[K, V]) get(key K) (V, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	v, ok := m.entries[key]
	return v, ok
}

func (m *memory[K, V]) put(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = map[K]V{}
	}
	if _, known := m.entries[key]; !known && len(m.entries) >= maxRemembered {
		for other := range m.entries {
			delete(m.entries, other)
			break
		}
	}
	m.entries[key] = value
}

// update replaces an entry, if there is one.
func (m *memory[K, V]) update(key K, change func(V) V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.entries[key]; known {
		m.entries[key] = change(m.entries[key])
	}
}

func (m *memory[K, V]) forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, key)
}
