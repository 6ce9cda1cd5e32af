// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"slices"
	"sync"

	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// Turns limit how many owners use remote clusters at a time, so that slow clusters do not delay all
// others. Other owners wait in a queue; a called one keeps its place until it enters or yields.
type Turns struct {
	limit int

	mu     sync.Mutex
	inside int
	queue  []owned.Owner
	called map[owned.Owner]bool
}

// NewTurns returns turns for that many owners at a time.
func NewTurns(limit int) *Turns { return &Turns{limit: limit, called: map[owned.Owner]bool{}} }

// Enter requests a place, to be returned with Exit. Without one the owner waits in the queue.
func (t *Turns) Enter(owner owned.Owner) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.called[owner] || t.free() > 0 {
		delete(t.called, owner)
		t.inside++
		return true
	}
	if !slices.Contains(t.queue, owner) {
		t.queue = append(t.queue, owner)
	}
	return false
}

// free counts the places that are neither taken nor kept for a called owner. While owners wait
// there is none: see call.
func (t *Turns) free() int { return t.limit - t.inside - len(t.called) }

// Exit returns a place. The caller must call the returned owners.
func (t *Turns) Exit() []owned.Owner {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inside--
	return t.call()
}

// Yield gives up an owner's place. The caller must call the returned owners instead.
func (t *Turns) Yield(owner owned.Owner) []owned.Owner {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.called, owner)
	t.queue = slices.DeleteFunc(t.queue, func(o owned.Owner) bool { return o == owner })
	return t.call()
}

// call gives the free places to the owners that have waited longest.
func (t *Turns) call() []owned.Owner {
	n := min(len(t.queue), t.free())
	if n == 0 {
		return nil
	}
	next := slices.Clone(t.queue[:n])
	t.queue = slices.Delete(t.queue, 0, n)
	for _, owner := range next {
		t.called[owner] = true
	}
	return next
}
