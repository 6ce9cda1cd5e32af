// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/gitops/sources/decide"
)

// memory is what this process knows of one source beside its object.
type memory struct {
	uid types.UID
	// looking is true while a look is under way, since when began says.
	looking bool
	began   time.Time
	// looked and answered are the generation and the request of the last look.
	looked   int64
	answered string
	// news is true when something said that the source should be looked at.
	news bool
	// The last look ended at lastLook; failures counts those in a row that failed up to it, stalled says how.
	lastLook time.Time
	failures int
	stalled  bool
	// upstream is what the upstream was named by when it was last seen.
	upstream string
	jitter   float64
	// outcome is what was found and is not on the object yet.
	outcome *outcome
	// wrote is the version of the object that this process wrote last: a cache that is behind it is not to be believed.
	wrote string
}

// memories are those of all sources of a kind.
type memories struct {
	mu sync.Mutex
	of map[types.NamespacedName]*memory
}

// with calls f with the memory of a source; one that was made anew under its name is another source.
func (m *memories) with(name types.NamespacedName, uid types.UID, f func(*memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[types.NamespacedName]*memory{}
	}
	mem := m.of[name]
	if mem == nil || mem.uid != uid {
		mem = &memory{uid: uid, jitter: 2*rand.Float64() - 1}
		m.of[name] = mem
	}
	f(mem)
}

// having calls f with the memory of a source, if there is one.
func (m *memories) having(name types.NamespacedName, uid types.UID, f func(*memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mem := m.of[name]; mem != nil && mem.uid == uid {
		f(mem)
	}
}

func (m *memories) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, name)
}

// tell marks the sources of an upstream, but one, and returns them.
func (m *memories) tell(upstream string, but types.NamespacedName) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	var told []types.NamespacedName
	for name, mem := range m.of {
		if mem.upstream == upstream && name != but && !mem.news {
			mem.news = true
			told = append(told, name)
		}
	}
	return told
}

// mark notes that a source should be looked at.
func (m *memories) mark(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mem := m.of[name]; mem != nil {
		mem.news = true
	}
}

// wroteAfter tells whether this process wrote a later version of the source than the one given.
func (m *memories) wroteAfter(name types.NamespacedName, version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.of[name]
	if mem == nil || mem.wrote == "" {
		return false
	}
	if version == mem.wrote {
		mem.wrote = ""
		return false
	}
	wrote, err := strconv.ParseUint(mem.wrote, 10, 64)
	seen, err2 := strconv.ParseUint(version, 10, 64)
	if err != nil || err2 != nil {
		return true
	}
	if seen > wrote {
		mem.wrote = ""
	}
	return seen < wrote
}

// facts are what the decision when to look depends on.
func (mem *memory) facts(o Object, v view, now time.Time) decide.Facts {
	return decide.Facts{Now: now, Deleting: !o.GetDeletionTimestamp().IsZero(), Suspended: v.suspended, Looking: mem.looking,
		Generation: o.GetGeneration(), Looked: mem.looked, Requested: requestOf(o), Answered: mem.handled(v), News: mem.news,
		LastLook: mem.lastLook, Failures: mem.failures, Stalled: mem.stalled, Interval: o.GetRequeueAfter(), Jitter: mem.jitter}
}

// handled is the last request that was looked at. Before the first look only the status knows.
func (mem *memory) handled(v view) string {
	if mem.looked == 0 {
		return *v.handled
	}
	return mem.answered
}

// begin notes that a look begins.
func (mem *memory) begin(o Object, now time.Time) {
	mem.looking, mem.began, mem.news = true, now, false
	mem.looked, mem.answered = o.GetGeneration(), requestOf(o)
}

// end notes what a look came to.
func (mem *memory) end(out *outcome) {
	mem.looking, mem.outcome, mem.lastLook = false, out, out.ended
	if out.found != nil {
		mem.upstream = out.found.Upstream
	}
	mem.stalled = stalls(out.err)
	if mem.failures++; out.err == nil {
		mem.failures = 0
	}
}
