// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"maps"
	"sync"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// maxKinds limits the runs whose kinds are remembered, to about 10 MB.
const maxKinds = 100_000

// Kinds remembers which runs only read, which no run ever changes: each time that a stack's runs are pruned, all of its records
// would be fetched again. It is safe for concurrent use.
type Kinds struct {
	mu    sync.Mutex
	reads map[run.Stack]map[string]bool
	n     int
}

// of returns what is known of a stack's runs.
func (k *Kinds) of(stack run.Stack) map[string]bool {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.reads[stack]
}

// set replaces what is known of a stack's runs, and forgets other stacks if that is too much.
func (k *Kinds) set(stack run.Stack, reads map[string]bool, most int) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.n -= len(k.reads[stack])
	delete(k.reads, stack)
	if len(reads) == 0 || len(reads) > most {
		return
	}
	maps.DeleteFunc(k.reads, func(_ run.Stack, others map[string]bool) bool {
		goes := k.n+len(reads) > most
		if goes {
			k.n -= len(others)
		}
		return goes
	})
	if k.reads == nil {
		k.reads = map[run.Stack]map[string]bool{}
	}
	k.reads[stack] = reads
	k.n += len(reads)
}
