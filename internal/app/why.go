// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
)

// serveWhy explains decisions: the controller knows the rules, the executor the queue, the server
// its tool.
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
