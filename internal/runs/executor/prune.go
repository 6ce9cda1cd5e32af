// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Keep is which runs of a stack are kept beside those that something still needs.
type Keep struct {
	// Runs is how many; 0 means any number.
	Runs int
	// Age is for how long; 0 means for ever.
	Age time.Duration
}

const (
	// settled is how long what a run left is left alone after it changed: until then a status that does not name the run
	// yet, or is read from a cache that is late, must not cost it.
	settled = time.Hour
	// replaced is the same for a look whose successor found just the same: its stack's status names that one by then.
	replaced = 10 * time.Minute
)

// Pruned is what a pruning removed.
type Pruned struct {
	// Runs are those that are gone whole, Blobs and Bytes all that is gone.
	Runs, Blobs int
	Bytes       int64
	// Left are looks that were to go and still have to wait.
	Left []string
}

// PruneRequest says what of a stack's runs is to go.
type PruneRequest struct {
	Stack run.Stack
	// Named are the runs that the stack's status names: nothing of them goes.
	Named []string
	// Repeated are looks whose successors found just the same: they go first.
	Repeated []string
	Keep     Keep
	Now      time.Time
}

// Prune removes what nobody needs of a stack's runs: those beyond what is kept, and the files of plans that can no longer
// be applied. Who reads meanwhile finds a run whole, or none.
func (e *Executor) Prune(ctx context.Context, r PruneRequest) (Pruned, error) {
	left, err := e.left(ctx, r.Stack)
	if err != nil {
		return Pruned{}, err
	}
	// Asked after the listing: what is listed and not in hand now has ended.
	named := slices.Clone(r.Named)
	if rec, _, ok := e.InHand(r.Stack); ok {
		named = append(named, rec.Spec.ID)
		if p := rec.Spec.Plan; p != nil {
			named = append(named, p.RunID)
		}
	}
	done, goes := superfluous(left, named, r)
	return done, e.removeBlobs(ctx, r.Stack, goes, &done)
}

// PruneGone removes all that a stack left which is gone, once the last of it is older than that. It tells whether it did.
func (e *Executor) PruneGone(ctx context.Context, stack run.Stack, before time.Time) (Pruned, error) {
	if e.inHand(stack) != nil {
		return Pruned{}, nil
	}
	var all []blob.Info
	for info, err := range e.opts.Blobs.List(ctx, stack.Prefix()) {
		if err != nil {
			return Pruned{}, fmt.Errorf("list what stack %s left: %w", stack, err)
		}
		if info.Modified.After(before) {
			return Pruned{}, nil
		}
		all = append(all, info)
	}
	var done Pruned
	for _, info := range all {
		if strings.HasSuffix(info.Key, "/"+run.BlobRecord) {
			done.Runs++
		}
	}
	if err := e.removeBlobs(ctx, stack, all, &done); err != nil {
		return done, err
	}
	if err := e.opts.Blobs.Delete(ctx, stack.LockFileKey()); err != nil {
		return done, fmt.Errorf("remove the lock file of stack %s, which is gone: %w", stack, err)
	}
	return done, nil
}

func (e *Executor) removeBlobs(ctx context.Context, stack run.Stack, goes []blob.Info, done *Pruned) error {
	for _, info := range goes {
		if err := e.opts.Blobs.Delete(ctx, info.Key); err != nil {
			return fmt.Errorf("remove what runs of %s left: %w", stack, err)
		}
		done.Blobs++
		done.Bytes += info.Size
	}
	return nil
}

// leftRun is what one run left.
type leftRun struct {
	id    string
	parts []blob.Info
	// at is when it changed last.
	at time.Time
}

// runParts are what runs leave, in the order in which it is removed: a run without its record is in no list any more.
var runParts = []string{run.BlobRecord, run.BlobLog, run.BlobPlan, run.BlobPlanJSON, run.BlobPlanText, run.BlobPlanShow}

// left lists what a stack's runs left, oldest first, the place of quiet passes left out.
func (e *Executor) left(ctx context.Context, stack run.Stack) ([]leftRun, error) {
	var all []leftRun
	for info, err := range e.opts.Blobs.List(ctx, stack.Prefix()) {
		if err != nil {
			return nil, fmt.Errorf("list the runs of %s: %w", stack, err)
		}
		id, part, _ := strings.Cut(strings.TrimPrefix(info.Key, stack.Prefix()), "/")
		if id == run.QuietSlot || !slices.Contains(runParts, part) {
			continue
		}
		if len(all) == 0 || all[len(all)-1].id != id {
			all = append(all, leftRun{id: id})
		}
		last := &all[len(all)-1]
		last.parts = append(last.parts, info)
		if info.Modified.After(last.at) {
			last.at = info.Modified
		}
	}
	return all, nil
}

// superfluous says what of the runs goes. Runs are in the order of their ids, which is that of their age.
func superfluous(runs []leftRun, named []string, r PruneRequest) (done Pruned, goes []blob.Info) {
	newer := 0
	for _, left := range slices.Backward(runs) {
		newer++
		idle := r.Now.Sub(left.at)
		repeated := slices.Contains(r.Repeated, left.id)
		switch {
		case slices.Contains(named, left.id):
			if repeated {
				done.Left = append(done.Left, left.id)
			}
		case repeated && idle < replaced:
			done.Left = append(done.Left, left.id)
		case repeated, idle >= settled && (r.Keep.Runs > 0 && newer > r.Keep.Runs || r.Keep.Age > 0 && idle > r.Keep.Age):
			done.Runs++
			newer--
			goes = append(goes, ordered(left.parts)...)
		case idle >= settled:
			goes = append(goes, spent(left.parts)...)
		}
	}
	return done, goes
}

// ordered has the record first.
func ordered(parts []blob.Info) []blob.Info {
	slices.SortFunc(parts, func(a, b blob.Info) int { return rank(a) - rank(b) })
	return parts
}

func rank(info blob.Info) int {
	return slices.Index(runParts, info.Key[strings.LastIndex(info.Key, "/")+1:])
}

// spent are the files of a plan that nobody can apply any more, or hand to a reviewer. What people read stays.
func spent(parts []blob.Info) []blob.Info {
	var goes []blob.Info
	for _, part := range parts {
		if strings.HasSuffix(part.Key, "/"+run.BlobPlan) || strings.HasSuffix(part.Key, "/"+run.BlobPlanShow) {
			goes = append(goes, part)
		}
	}
	return goes
}
