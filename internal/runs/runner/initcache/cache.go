// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initcache

import (
	"sync"
)

// Cache are the latest ones by what they depend on.
type Cache struct {
	mu    sync.Mutex
	byKey map[string]*Init
	order []string // the oldest first
	size  int
}

func New() *Cache { return &Cache{byKey: map[string]*Init{}} }

// How much is kept: an init of a large program leaves some 20 KiB.
const (
	maxKeptInits   = 512
	maxKeptBytes   = 16 << 20
	maxKeptOne     = 1 << 20
	maxKeptEntries = 1000
)

func (k *Cache) Get(key string) *Init {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byKey[key]
}

func (k *Cache) Put(key string, kept *Init) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropLocked(key)
	k.byKey[key], k.size, k.order = kept, k.size+kept.size, append(k.order, key)
	for len(k.order) > maxKeptInits || k.size > maxKeptBytes {
		k.dropLocked(k.order[0])
	}
}

func (k *Cache) Drop(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropLocked(key)
}

func (k *Cache) dropLocked(key string) {
	kept := k.byKey[key]
	if kept == nil {
		return
	}
	delete(k.byKey, key)
	k.size -= kept.size
	for i, other := range k.order {
		if other == key {
			k.order = append(k.order[:i], k.order[i+1:]...)
			return
		}
	}
}
