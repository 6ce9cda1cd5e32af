// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/objects/ready"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
)

// place is an object of a cluster.
type place struct {
	cluster string
	id      owned.ID
}

// left is the memory of a written object.
type left struct {
	at place
	// digest identifies the manifest, print the object after the write.
	digest string
	print  owned.Print
	// readiness is the object's at that time.
	readiness ready.Readiness
	// needs are its dependencies at that time.
	needs []string
}

// quarrel counts how often an unchanged manifest was restored. Another controller that changes the
// object each time would otherwise make both write without a pause.
type quarrel struct {
	last  time.Time
	times int
}

// undoneAtOnce is how many changes are undone without a pause.
const undoneAtOnce = 5

// again counts one more.
func (q *quarrel) again(now time.Time) {
	if now.Sub(q.last) > 2*passes.LongestRefusal {
		q.times = 0
	}
	q.last = now
	q.times++
}

// due is when to undo the next change; zero for now.
func (q *quarrel) due() time.Time {
	if q == nil || q.times < undoneAtOnce {
		return time.Time{}
	}
	return q.last.Add(passes.Backoff(passes.ShortestPause, passes.LongestRefusal, q.times-undoneAtOnce))
}

// duplicate is the memory of a copy at the target.
type duplicate struct {
	// version identifies the original, print the copy. An existing object has no print.
	version string
	print   *owned.Print
}

// memory is the data about a tenant that passes remember. Only its own passes change it.
type memory struct {
	uid types.UID
	// objects are the written ones, refused the failed writes.
	objects map[string]*left
	refused map[string]*passes.Refusal
	// quarrels are about objects that another actor keeps changing.
	quarrels map[string]*quarrel
	// copies are those at the target.
	copies map[place]duplicate
	// told are the last events about each object, to avoid repeating them.
	told map[string]string
	// far are the objects without an owner reference.
	far []place
	// unsettled: since their last write, not all objects have been ready.
	unsettled bool
}

func newMemory(uid types.UID) *memory {
	return &memory{uid: uid, objects: map[string]*left{}, refused: map[string]*passes.Refusal{}, quarrels: map[string]*quarrel{},
		copies: map[place]duplicate{}, told: map[string]string{}, unsettled: true}
}

// leave forgets a cluster.
func (m *memory) leave(cluster string) {
	maps.DeleteFunc(m.objects, func(_ string, l *left) bool { return l.at.cluster == cluster })
	maps.DeleteFunc(m.copies, func(at place, _ duplicate) bool { return at.cluster == cluster })
	clear(m.refused)
}

// memories are those of all tenants, and objects without a known tenant.
type memories struct {
	mu  sync.Mutex
	all map[owned.Owner]*memory
	// unclaimed are objects of tenants without a pass yet, which may not exist; toldStrays is the
	// last event about them.
	unclaimed  map[owned.Owner]map[place]bool
	toldStrays map[owned.Owner]string
}

func newMemories() *memories {
	return &memories{all: map[owned.Owner]*memory{}, unclaimed: map[owned.Owner]map[place]bool{}, toldStrays: map[owned.Owner]string{}}
}

// of returns the memory of a tenant, a new one for a recreated tenant.
func (b *memories) of(owner owned.Owner, uid types.UID) *memory {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.all[owner]
	if m == nil || m.uid != uid {
		m = newMemory(uid)
		b.all[owner] = m
		delete(b.unclaimed, owner)
		delete(b.toldStrays, owner)
	}
	return m
}

// read returns the memory of a tenant; may be nil.
func (b *memories) read(owner owned.Owner) *memory {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all[owner]
}

func (b *memories) forget(owner owned.Owner) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.all, owner)
}
