// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"maps"
	"math/rand/v2"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/types"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	sources "github.com/yuba-dev/yuba/internal/gitops/sources/decide"
	"github.com/yuba-dev/yuba/internal/gitops/sources/tags/decide"
	"github.com/yuba-dev/yuba/internal/objects/knowledge"
)

// verdicts are the results of attempts to publish tags.
type verdicts map[decide.Key]decide.Verdict

// memory is the knowledge of this process about one object besides the object.
type memory struct {
	// looking is true while a look runs, began is its start.
	looking bool
	began   time.Time
	// looked and answered are the generation and the request of the last look.
	looked   int64
	answered string
	// news is true if the repository, a Secret, or the rest of a batch requires a look.
	news bool
	// lastLook is the end of the last look, failures the number of consecutive failures, stalled the
	// kind of the last one.
	lastLook time.Time
	failures int
	stalled  bool
	// upstream is the key of the repository in the last look.
	upstream string
	jitter   float64
	verdicts verdicts
	// outcome is a result that is not recorded yet.
	outcome *outcome
}

// memories are those of all objects.
type memories struct{ knowledge.Of[memory] }

// with calls f with the memory of an object; a new object of the same name has a new one.
func (m *memories) with(name types.NamespacedName, uid types.UID, f func(*memory)) {
	m.With(name, uid, func() memory { return memory{jitter: 2*rand.Float64() - 1} }, f)
}

// tell marks the objects of a repository, and returns them.
func (m *memories) tell(upstream string) (told []types.NamespacedName) {
	m.Each(func(name types.NamespacedName, mem *memory) {
		// The news of an object's own look are in its result.
		if mem.upstream == upstream && !mem.news && !mem.looking {
			mem.news = true
			told = append(told, name)
		}
	})
	return told
}

// mark records that an object needs a look that tries refused tags again: a Secret changed.
func (m *memories) mark(name types.NamespacedName) {
	m.Having(name, "", func(mem *memory) { mem.news, mem.verdicts = true, nil })
}

// facts returns the facts for the decision when to look.
func (mem *memory) facts(o *yubav1.ModuleSource, now time.Time) sources.Facts {
	answered := mem.answered
	if mem.looked == 0 { // before the first look of this process it is in the status
		answered = o.Status.LastHandledReconcileAt
	}
	return sources.Facts{Now: now, Deleting: !o.DeletionTimestamp.IsZero(), Suspended: o.Spec.Suspend, Looking: mem.looking,
		Generation: o.Generation, Looked: mem.looked, Requested: requestOf(o), Answered: answered, News: mem.news,
		LastLook: mem.lastLook, Failures: mem.failures, Stalled: mem.stalled, Interval: o.GetRequeueAfter(), Jitter: mem.jitter}
}

// begin records the start of a look, and returns the verdicts that it may use. A requested look
// tries everything again.
func (mem *memory) begin(o *yubav1.ModuleSource, fresh bool, now time.Time) verdicts {
	if fresh {
		mem.verdicts = nil
	}
	mem.looking, mem.began, mem.news = true, now, false
	mem.looked, mem.answered = o.Generation, requestOf(o)
	return maps.Clone(mem.verdicts)
}

// end records the result of a look.
func (mem *memory) end(out *outcome) {
	mem.looking, mem.outcome, mem.lastLook = false, out, out.ended
	if out.upstream != "" {
		mem.upstream = out.upstream
	}
	mem.verdicts = out.verdicts
	// The rest of a batch follows at once, also that of permitted modules.
	rest := out.decision.Left > 0 && (out.err == nil || isForbidden(out.err) && len(out.published) > 0)
	mem.news = mem.news || rest
	mem.stalled = stalls(out.err)
	if mem.failures++; out.err == nil {
		mem.failures = 0
	}
}

// requestOf returns the request for a reconciliation.
func requestOf(o *yubav1.ModuleSource) string {
	value, _ := meta.ReconcileAnnotationValue(o.GetAnnotations())
	return value
}
