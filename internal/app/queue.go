// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/queue"
	"github.com/yuba-dev/yuba/internal/runs/run"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
)

// queue returns the current runs.
func (e *engine) queue(context.Context) content.Queue {
	q := content.Queue{Items: []content.QueueEntry{}}
	for _, u := range e.executor.AtWork() {
		entry := queueEntry(u.Run)
		if entry.Phase = phaseOf(u.Run); u.Prepared {
			entry.Phase = content.PhasePrepared
		}
		q.Items = append(q.Items, entry)
	}
	for at, p := range e.executor.Queue() {
		entry := queueEntry(p.Run)
		entry.Place = at + 1
		if p.Full && p.Class == queue.Review {
			entry.Waits = fmt.Sprintf("%d speculative plans may execute at a time", mostReviews(e.concurrency()))
		} else if p.Full {
			entry.Waits = fmt.Sprintf("its namespace has %d executing runs, its maximum", e.opts.NamespaceConcurrency)
		}
		q.Items = append(q.Items, entry)
	}
	return q
}

// mostReviews is how many of the concurrent runs may be speculative plans: the others are for runs that may change
// something. Two may always run, as a pull request changes several stacks.
func mostReviews(concurrency int) int { return max(2, concurrency*3/4) }

func queueEntry(rec run.Record) content.QueueEntry {
	s := rec.Spec
	return content.QueueEntry{Namespace: s.Stack.Namespace, Name: s.Stack.Name, Run: s.ID, Operation: string(s.Operation), Purpose: string(s.Purpose),
		Urgency: string(cmp.Or(rec.Urgency, run.UrgencyChange)), Trigger: rec.Trigger, By: rec.By, Since: rec.Created, Started: rec.Started, Waits: rec.Waits}
}

// phaseByHand is the phase of manual operations.
const phaseByHand = "by hand"

// phaseOf returns the phase of an executing run.
func phaseOf(rec run.Record) string {
	switch {
	case rec.Started == nil:
		return "starting"
	case rec.Spec.Operation.ByHand():
		return phaseByHand
	case rec.Permitted || rec.Spec.Operation == run.OperationApply:
		return "applying"
	}
	return "planning"
}

// namespaceLimit returns the maximum number of concurrent runs of a namespace.
func (e *engine) namespaceLimit(string) int { return e.opts.NamespaceConcurrency }

// serveWhy serves explanations of decisions: with the rules of the controller, the queue of the
// executor, and the server's tool.
func (e *engine) serveWhy(r *stacks.Reconciler) {
	e.content.Why = func(ctx context.Context, name types.NamespacedName) (run.Why, error) {
		why, err := r.Why(ctx, name)
		if err != nil {
			return why, err
		}
		why.Queue = placeIn(e.queue(ctx), name)
		if p := why.Planned; p != nil && !why.OwnTool && e.otherVersion(p.Tool) {
			why.Note(fmt.Sprintf("The plan was made with %s, and the server's tool now has version %s. That alone starts no run; "+
				"the next run, for drift detection or a change, uses it.", p.Tool, e.tool.version))
		}
		return why, nil
	}
}

// otherVersion reports whether a run used another version than the server's own tool has now.
func (e *engine) otherVersion(used string) bool {
	_, version, ok := strings.Cut(used, " ")
	return ok && e.tool.version != "" && version != e.tool.version
}

// placeIn finds the waiting run of a stack in the queue.
func placeIn(q content.Queue, name types.NamespacedName) *run.QueuePlace {
	for _, entry := range q.Items {
		if entry.Namespace == name.Namespace && entry.Name == name.Name && entry.Place > 0 {
			return &run.QueuePlace{Place: entry.Place, Waits: entry.Waits}
		}
	}
	return nil
}
