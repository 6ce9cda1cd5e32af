// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"container/list"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
)

// maxCached bounds the JSON of the values in memory; decoded, they take about ten times as much.
const maxCached = 8 << 20

// cache has the values that were read last. Concurrent readers of a value read it once.
type cache struct {
	mu      sync.Mutex
	entries map[string]*entry
	// order has the keys, the one used last in front.
	order list.List
	size  int
}

type entry struct {
	once  sync.Once
	value cty.Value
	size  int
	err   error
	place *list.Element
}

func (c *cache) get(key string, read func(string) (cty.Value, int, error)) (cty.Value, error) {
	c.mu.Lock()
	e := c.entries[key]
	if e == nil {
		if c.entries == nil {
			c.entries = map[string]*entry{}
		}
		e = &entry{place: c.order.PushFront(key)}
		c.entries[key] = e
	} else {
		c.order.MoveToFront(e.place)
	}
	c.mu.Unlock()
	e.once.Do(func() {
		value, size, err := read(key)
		c.mu.Lock()
		defer c.mu.Unlock()
		e.value, e.size, e.err = value, size, err
		if c.entries[key] != e {
			return
		}
		if c.size += size; err != nil {
			c.drop(key)
		}
		for c.size > maxCached && c.order.Len() > 1 {
			c.drop(c.order.Back().Value.(string))
		}
	})
	return e.value, e.err
}

func (c *cache) drop(key string) {
	e := c.entries[key]
	delete(c.entries, key)
	c.order.Remove(e.place)
	c.size -= e.size
}

func (c *cache) forget(prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.entries {
		if strings.HasPrefix(key, prefix) {
			c.drop(key)
		}
	}
}
