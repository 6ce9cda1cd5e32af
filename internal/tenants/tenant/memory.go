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

// left is what is remembered of an object that was written.
type left struct {
	at place
	// digest stands for the manifest, print for the object as it was left.
	digest string
	print  owned.Print
	// readiness is how the object was then.
	readiness ready.Readiness
	// needs are the ids that it depended on as it was written.
	needs []string
}

// quarrel counts how often an object was brought back to a manifest that had not changed. Somebody
// who changes it again each time, such as another controller, would have both write as fast as they
// can.
type quarrel struct {
	last  time.Time
	times int
}

// undoneAtOnce is how often a change of somebody is undone at once.
const undoneAtOnce = 5

// again records one more time.
func (q *quarrel) again(now time.Time) {
	if now.Sub(q.last) > 2*passes.LongestRefusal {
		q.times = 0
	}
	q.last = now
	q.times++
}

// due is when the next change is undone; the zero time is at once.
func (q *quarrel) due() time.Time {
	if q == nil || q.times < undoneAtOnce {
		return time.Time{}
	}
	return q.last.Add(passes.Backoff(passes.ShortestPause, passes.LongestRefusal, q.times-undoneAtOnce))
}

// duplicate is what is remembered of an object that was copied to the target.
type duplicate struct {
	// version stands for ours, print for the copy as it was left. There is no print when the object
	// was there before.
	version string
	print   *owned.Print
}

// memory is what is remembered of a tenant between passes. Only its own passes change it, one at a
// time.
type memory struct {
	uid types.UID
	// objects are those that were written, refused those that could not be.
	objects map[string]*left
	refused map[string]*passes.Refusal
	// quarrels are about objects that somebody keeps changing.
	quarrels map[string]*quarrel
	// copies are the objects that were copied to the target.
	copies map[place]duplicate
	// told are the last events about each object, so that none is told twice.
	told map[string]string
	// far are the objects that no owner reference leads to.
	far []place
	// unsettled is true from when objects were written until they have all been ready.
	unsettled bool
}

func newMemory(uid types.UID) *memory {
	return &memory{uid: uid, objects: map[string]*left{}, refused: map[string]*passes.Refusal{}, quarrels: map[string]*quarrel{},
		copies: map[place]duplicate{}, told: map[string]string{}, unsettled: true}
}

// leave forgets what is remembered of a cluster.
func (m *memory) leave(cluster string) {
	maps.DeleteFunc(m.objects, func(_ string, l *left) bool { return l.at.cluster == cluster })
	maps.DeleteFunc(m.copies, func(at place, _ duplicate) bool { return at.cluster == cluster })
	clear(m.refused)
}

// memories are the memories of all tenants, and the objects of tenants without one.
type memories struct {
	mu  sync.Mutex
	all map[owned.Owner]*memory
	// unclaimed are objects of tenants that were not reconciled yet: they may not exist. toldStrays is
	// the last event about them.
	unclaimed  map[owned.Owner]map[place]bool
	toldStrays map[owned.Owner]string
}

func newMemories() *memories {
	return &memories{all: map[owned.Owner]*memory{}, unclaimed: map[owned.Owner]map[place]bool{}, toldStrays: map[owned.Owner]string{}}
}

// of returns the memory of a tenant, a new one when it is another tenant of the name.
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

// read returns the memory of a tenant; nil if there is none.
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
