// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sources "github.com/yuba-dev/yuba/internal/gitops/sources/decide"
	"github.com/yuba-dev/yuba/internal/objects/knowledge"
)

// memory is the knowledge of this process about one object besides the object.
type memory struct {
	// working is true while work runs, began is its start.
	working bool
	began   time.Time
	// worked and answered are the generation and the request of the last work.
	worked   int64
	answered string
	// news is true if something that the object names has changed.
	news bool
	// last is the end of the last work, failures the number of consecutive failures, stalled the kind
	// of the last one.
	last     time.Time
	failures int
	stalled  bool
	jitter   float64
	// outcome is a result that is not recorded yet.
	outcome *outcome
}

// memories are those of all objects of a kind.
type memories struct{ knowledge.Of[memory] }

// with calls f with the memory of an object; a new object of the same name has a new one.
func (m *memories) with(name types.NamespacedName, uid types.UID, f func(*memory)) {
	m.With(name, uid, func() memory { return memory{jitter: 2*rand.Float64() - 1} }, f)
}

// mark records that an object must work again.
func (m *memories) mark(name types.NamespacedName) {
	m.Having(name, "", func(mem *memory) { mem.news = true })
}

// facts returns the facts for the decision when to work.
func (mem *memory) facts(o object, v view, now time.Time) sources.Facts {
	answered := mem.answered
	if mem.worked == 0 { // before the first work of this process it is in the status
		answered = *v.handled
	}
	return sources.Facts{Now: now, Deleting: !o.GetDeletionTimestamp().IsZero(), Suspended: v.suspended, Looking: mem.working,
		Generation: o.GetGeneration(), Looked: mem.worked, Requested: requestOf(o), Answered: answered, News: mem.news,
		LastLook: mem.last, Failures: mem.failures, Stalled: mem.stalled, Interval: v.interval, Jitter: mem.jitter}
}

func (mem *memory) begin(o object, now time.Time) {
	mem.working, mem.began, mem.news = true, now, false
	mem.worked, mem.answered = o.GetGeneration(), requestOf(o)
}

func (mem *memory) end(out *outcome) {
	mem.working, mem.outcome, mem.last = false, out, out.ended
	mem.stalled = stalls(out.err)
	if mem.failures++; out.err == nil {
		mem.failures = 0
	}
}

// requestOf returns the request for a reconciliation.
func requestOf(o client.Object) string {
	value, _ := meta.ReconcileAnnotationValue(o.GetAnnotations())
	return value
}

// book has the tags of images, by the ImageRepository.
type book struct {
	mu sync.Mutex
	of map[types.NamespacedName]page
}

// page has the tags of one ImageRepository, in order.
type page struct {
	uid        types.UID
	generation int64
	tags       []string
}

func (b *book) write(name types.NamespacedName, p page) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[types.NamespacedName]page{}
	}
	b.of[name] = p
}

func (b *book) read(name types.NamespacedName, uid types.UID) (p page, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, known = b.of[name]
	return p, known && p.uid == uid
}

func (b *book) forget(name types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.of, name)
}
