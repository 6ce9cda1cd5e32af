// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/gitops/sources/decide"
	"github.com/yuba-dev/yuba/internal/objects/knowledge"
)

// memory is the knowledge of this process about one source besides its object.
type memory struct {
	// looking is true while a look runs, began is its start.
	looking bool
	began   time.Time
	// looked and answered are the generation and the request of the last look.
	looked   int64
	answered string
	// news is true if a dependency of the source has changed.
	news bool
	// lastLook is the end of the last look, failures the number of consecutive failures, stalled
	// the kind of the last one.
	lastLook time.Time
	failures int
	stalled  bool
	// upstream is the upstream's key in the last look.
	upstream string
	jitter   float64
	// outcome is a result that is not recorded yet.
	outcome *outcome
}

// memories are those of all sources of a kind.
type memories struct{ knowledge.Of[memory] }

// with calls f with the memory of an object; a new object of the same name has a new one.
func (m *memories) with(name types.NamespacedName, uid types.UID, f func(*memory)) {
	m.With(name, uid, func() memory { return memory{jitter: 2*rand.Float64() - 1} }, f)
}

// tell marks the other sources of an upstream, and returns them.
func (m *memories) tell(upstream string, but types.NamespacedName) (told []types.NamespacedName) {
	m.Each(func(name types.NamespacedName, mem *memory) {
		if mem.upstream == upstream && name != but && !mem.news {
			mem.news = true
			told = append(told, name)
		}
	})
	return told
}

// mark records that a source needs a look.
func (m *memories) mark(name types.NamespacedName) {
	m.Having(name, "", func(mem *memory) { mem.news = true })
}

// facts returns the facts for the decision when to look.
func (mem *memory) facts(o Object, v view, now time.Time) decide.Facts {
	return decide.Facts{Now: now, Deleting: !o.GetDeletionTimestamp().IsZero(), Suspended: v.suspended, Looking: mem.looking,
		Generation: o.GetGeneration(), Looked: mem.looked, Requested: requestOf(o), Answered: mem.handled(v), News: mem.news,
		LastLook: mem.lastLook, Failures: mem.failures, Stalled: mem.stalled, Interval: o.GetRequeueAfter(), Jitter: mem.jitter}
}

// handled returns the last handled request; before the first look it is in the status.
func (mem *memory) handled(v view) string {
	if mem.looked == 0 {
		return *v.handled
	}
	return mem.answered
}

// begin records the start of a look.
func (mem *memory) begin(o Object, now time.Time) {
	mem.looking, mem.began, mem.news = true, now, false
	mem.looked, mem.answered = o.GetGeneration(), requestOf(o)
}

// end records the result of a look.
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
