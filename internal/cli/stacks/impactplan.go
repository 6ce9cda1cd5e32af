// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/trials"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/contracts/impact"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

// plannedLevel are the speculative plans of one level.
type plannedLevel struct {
	Level int `json:"level"`
	// Groups are equal plans together, Rests the stacks that would not run.
	Groups []speculative.Group `json:"groups"`
	Rests  []string            `json:"rests,omitempty"`
	// Stacks are all plans.
	Stacks []content.Try `json:"stacks"`
}

// impactWalk plans level by level.
type impactWalk struct {
	session             *session.Session
	flags               *impactFlags
	edges               *impact.Map
	pending, pendingRun string
	view                *impactView
	// plans are the changes of the stacks that are planned, and runs their speculative plans: those
	// that the next levels read.
	plans impact.Plans
	// judged is what the plans do to contracts.
	judged []speculative.Contract
	mu     sync.Mutex
	runs   map[string]content.PlanOf
}

func succeeded(t *content.Try) bool { return t.Ended && t.Outcome == run.OutcomeSucceeded }

// changeOf is what a speculative plan does to the outputs.
func changeOf(t *content.Try) impact.Change {
	c := impact.Change{}
	for _, o := range t.Outputs {
		c[o.Name] = o
	}
	return c
}

// planFirst plans the stack itself.
func (w *impactWalk) planFirst(ctx context.Context, key types.NamespacedName) (_ content.Try, err error) {
	request := content.PreviewRequest{Revision: w.flags.revision}
	var packed io.ReadSeeker
	if w.flags.dir != "" {
		file, err := trials.Pack(ctx, w.flags.dir)
		if err != nil {
			return content.Try{}, err
		}
		defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
		packed = file
	}
	w.session.News("Planning %s. Nothing is applied.", key)
	planned := w.preview(ctx, key, request, packed)
	if succeeded(&planned) {
		w.planned(&planned)
		w.judged = append(w.judged, planned.Contracts...)
	}
	return planned, nil
}

func (w *impactWalk) preview(ctx context.Context, key types.NamespacedName, r content.PreviewRequest, packed io.ReadSeeker) content.Try {
	return trials.One(ctx, key.Namespace, key.Name, trials.Previews(w.session, key, r, packed))
}

// walk plans the stacks that would run, level by level.
func (w *impactWalk) walk(ctx context.Context) error {
	if !succeeded(w.view.Planned) {
		return nil
	}
	if w.view.Cycle != nil {
		return fmt.Errorf("plan what reads from %s: these stacks read from each other in a circle, so there is no order in which they could be planned: %s",
			w.view.Stack, strings.Join(w.view.Cycle, ", "))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go w.keep(ctx)
	defer w.forget(context.WithoutCancel(ctx))
	w.view.Plans = []plannedLevel{}
	steps := &impact.Walk{Map: w.edges, Of: []string{w.view.Stack}, Plans: w.plans}
	for n := 1; w.flags.levels == 0 || n <= w.flags.levels; n++ {
		step, more := steps.Next()
		if !more || ctx.Err() != nil {
			return nil
		}
		w.view.Plans = append(w.view.Plans, w.level(ctx, n, steps, step))
		// What is behind the planned stacks is compared with their plans from now on.
		w.view.Impact = w.edges.ImpactOf(w.view.Stack, w.plans)
		w.breaks()
	}
	return nil
}

// breaks notes in the answer which contracts the plans break.
func (w *impactWalk) breaks() {
	for _, c := range w.judged {
		for _, h := range c.Broken {
			w.view.Break(h.Consumer, h.String())
		}
	}
}

// level plans the stacks of one level.
func (w *impactWalk) level(ctx context.Context, n int, steps *impact.Walk, step impact.Step) plannedLevel {
	out := plannedLevel{Level: n, Stacks: []content.Try{}}
	for _, r := range step.Rests {
		out.Rests = append(out.Rests, r.Stack)
	}
	for _, r := range step.Blocked {
		namespace, name, _ := strings.Cut(r.Stack, "/")
		out.Stacks = append(out.Stacks, content.Try{Namespace: namespace, Name: name, Ended: true, Needs: needsOf(steps.Needs(r))})
	}
	open := step.Open
	if len(open) > 0 {
		w.session.News("Level %d: planning %s.", n, ui.Count(len(open), "stack"))
	}
	progress := trials.NewProgress(w.session, len(open))
	results := trials.All(ctx, len(open), w.flags.parallel, progress, func(ctx context.Context, i int) content.Try {
		return w.preview(ctx, keyOf(open[i].Stack), content.PreviewRequest{From: w.from(open[i])}, nil)
	})
	progress.End()
	for i := range results {
		if t := &results[i]; succeeded(t) {
			w.plans[t.Stack()] = changeOf(t)
			w.planned(t)
			w.judged = append(w.judged, t.Contracts...)
		}
	}
	out.Stacks = append(out.Stacks, results...)
	slices.SortFunc(out.Stacks, func(a, b content.Try) int { return cmp.Compare(a.Stack(), b.Stack()) })
	out.Groups = speculative.Fold(out.Stacks)
	return out
}

// needsOf are stacks whose outputs are not known.
func needsOf(producers []string) (needs []speculative.Need) {
	for _, producer := range producers {
		needs = append(needs, speculative.Need{Stack: producer, Input: "what " + producer + " outputs"})
	}
	return needs
}

// planned notes a plan for those that read from it.
func (w *impactWalk) planned(t *content.Try) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[t.Stack()] = content.PlanOf{Namespace: t.Namespace, Name: t.Name, Run: t.Run}
}

// from are the plans whose outputs a stack reads.
func (w *impactWalk) from(r impact.Reached) []content.PlanOf {
	var from []content.PlanOf
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, producer := range r.From {
		if p, planned := w.runs[producer]; planned {
			from = append(from, p)
		}
	}
	return from
}

func keyOf(stack string) types.NamespacedName {
	namespace, name, _ := strings.Cut(stack, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}
