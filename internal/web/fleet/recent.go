// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

const (
	// keptRuns is how many runs are remembered for a stack, maxRemembered for how many stacks.
	keptRuns, maxRemembered = 12, 50_000
)

// ended is a run that has ended.
type ended struct {
	id, operation, status string
	took                  time.Duration
	at                    time.Time
}

// recent remembers the last runs of stacks since this process began to watch them, about 1 kB for
// each stack. Drift checks without findings are not among them: they leave the status as it is.
type recent struct {
	mu   sync.RWMutex
	runs map[string][]ended
}

func newRecent() *recent { return &recent{runs: map[string][]ended{}} }

// follow learns of runs from the watch.
func (x *recent) follow(ctx context.Context, informers cache.Informers) error {
	informer, err := informers.GetInformer(ctx, &infrav1.Terraform{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch stacks: %w", err)
	}
	see := func(object any) {
		if t, ok := object.(*infrav1.Terraform); ok {
			x.see(t)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, after any) { see(after) }, DeleteFunc: func(object any) {
		if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if t, ok := object.(*infrav1.Terraform); ok {
			x.forget(t)
		}
	}})
	if err != nil {
		return fmt.Errorf("watch stacks: %w", err)
	}
	return nil
}

// see remembers a stack's last run, once.
func (x *recent) see(t *infrav1.Terraform) {
	run := t.Status.LastRun
	if run == nil || run.FinishedAt == nil {
		return
	}
	key := t.Namespace + "/" + t.Name
	e := ended{id: run.ID, operation: run.Operation, status: run.Status, at: run.FinishedAt.Time}
	if run.StartedAt != nil {
		e.took = max(0, run.FinishedAt.Sub(run.StartedAt.Time))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	runs := x.runs[key]
	if len(runs) > 0 && runs[len(runs)-1].id == e.id || len(runs) == 0 && len(x.runs) >= maxRemembered {
		return
	}
	// A new slice: others may be reading the old one.
	from := max(0, len(runs)+1-keptRuns)
	x.runs[key] = append(slices.Clone(runs[from:]), e)
}

func (x *recent) forget(t *infrav1.Terraform) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.runs, t.Namespace+"/"+t.Name)
}

// of returns the runs of a stack, oldest first.
func (x *recent) of(key string) []ended {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.runs[key]
}
