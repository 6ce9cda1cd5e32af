// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"hash/maphash"
	"sync"
)

// maxRemembered bounds the causes that are remembered, about 500 bytes each.
const maxRemembered = 20_000

// memo remembers the causes of facts: open pages ask for those of hundreds of stacks at each change,
// and reading a message takes a hundred times as long as looking it up.
type memo struct {
	mu    sync.Mutex
	seed  maphash.Seed
	known map[fingerprint]Cause
}

// fingerprint identifies facts without keeping their message.
type fingerprint struct {
	namespace, name, reason string
	kind                    Kind
	length                  int
	message                 uint64
}

var remembered = memo{seed: maphash.MakeSeed(), known: map[fingerprint]Cause{}}

func (m *memo) of(f Facts) Cause {
	key := fingerprint{f.Namespace, f.Name, f.Reason, f.Kind, len(f.Message), maphash.String(m.seed, f.Message)}
	m.mu.Lock()
	c, ok := m.known[key]
	m.mu.Unlock()
	if ok {
		return c
	}
	c = read(f)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= maxRemembered {
		clear(m.known)
	}
	m.known[key] = c
	return c
}
