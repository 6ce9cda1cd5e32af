// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Keep says how many runs of a stack are kept in addition to the needed ones.
type Keep struct {
	// Runs is their maximum number; 0 means any number.
	Runs int
	// Age is their maximum age; 0 means unlimited.
	Age time.Duration
}

const (
	// settled protects a run for this long after its last change: statuses and caches may be late.
	settled = time.Hour
	// reads and readAge limit runs that only read: on a terminal, each line of a console is one. They take no places of
	// the others.
	reads, readAge = 20, 24 * time.Hour
	// replaced is the same as settled for a drift check whose successor found the same.
	replaced = 10 * time.Minute
)

// Pruned counts the removed runs and blobs.
type Pruned struct {
	// Runs counts runs that were removed completely, Blobs and Bytes everything that was removed.
	Runs, Blobs int
	Bytes       int64
	// Left are drift checks that must be removed later.
	Left []string
}

// PruneRequest says which of a stack's runs to remove.
type PruneRequest struct {
	Stack run.Stack
	// Named are the runs that the stack's status names: they stay as they are.
	Named []string
	// Repeated are drift checks whose successors found the same: they are removed first.
	Repeated []string
	Keep     Keep
	Now      time.Time
}

// Prune removes runs beyond those to keep, and plans that can no longer be applied. Readers find a
// complete run or none. inUse is called after the listing, so other listed runs have ended.
func (s Store) Prune(ctx context.Context, r PruneRequest, inUse func() []string) (Pruned, error) {
	left, err := s.left(ctx, r.Stack)
	if err != nil {
		return Pruned{}, err
	}
	if r.Keep.Runs > 0 && len(left) > r.Keep.Runs {
		s.findReads(ctx, r.Stack, left)
	}
	done, goes := superfluous(left, append(inUse(), r.Named...), r)
	return done, s.remove(ctx, r.Stack, goes, &done)
}

// findReads marks the runs that only read. Those have no plans, so that the records of others need not be fetched. Runs
// whose records cannot be read count as others.
func (s Store) findReads(ctx context.Context, stack run.Stack, runs []leftRun) {
	known, found := s.Kinds.of(stack), map[string]bool{}
	for i := range runs {
		left := &runs[i]
		if !left.has(run.BlobRecord) || left.has(run.BlobPlanJSON) || left.has(run.BlobPlanText) {
			continue
		}
		reads, ok := known[left.id]
		if !ok {
			rec, err := s.Get(ctx, stack, left.id)
			if err != nil {
				continue
			}
			reads = rec.Reads()
		}
		left.reads, found[strings.Clone(left.id)] = reads, reads
	}
	s.Kinds.set(stack, found, maxKinds)
}

// PruneGone removes the runs of a deleted stack once all of them are older than before.
func (s Store) PruneGone(ctx context.Context, stack run.Stack, before time.Time) (Pruned, error) {
	var all []blob.Info
	var done Pruned
	for info, err := range s.Blobs.List(ctx, stack.Prefix()) {
		if err != nil {
			return Pruned{}, fmt.Errorf("list the runs of deleted stack %s: %w", stack, err)
		}
		if info.Modified.After(before) {
			return Pruned{}, nil
		}
		all = append(all, info)
		if isRecord(info) {
			done.Runs++
		}
	}
	s.Kinds.set(stack, nil, maxKinds)
	if err := s.remove(ctx, stack, all, &done); err != nil {
		return done, err
	}
	if err := s.Blobs.Delete(ctx, stack.LockFileKey()); err != nil {
		return done, fmt.Errorf("remove the lock file of deleted stack %s: %w", stack, err)
	}
	return done, nil
}

func (s Store) remove(ctx context.Context, stack run.Stack, goes []blob.Info, done *Pruned) error {
	for _, info := range goes {
		if err := s.Blobs.Delete(ctx, info.Key); err != nil {
			return fmt.Errorf("remove runs of %s: %w", stack, err)
		}
		done.Blobs++
		done.Bytes += info.Size
	}
	return nil
}

// leftRun lists the blobs of one run.
type leftRun struct {
	id    string
	parts []blob.Info
	// at is its last change.
	at time.Time
	// reads is true for a run that only reads.
	reads bool
}

// runParts are the blobs of runs in the order of removal: first the record, without which a run is
// not listed.
var runParts = []string{run.BlobRecord, run.BlobLog, run.BlobPlan, run.BlobPlanJSON, run.BlobPlanText, run.BlobPlanShow, run.BlobPlanOutputs}

// left lists the blobs of a stack's runs, oldest first, without those of quiet passes.
func (s Store) left(ctx context.Context, stack run.Stack) ([]leftRun, error) {
	var all []leftRun
	for info, err := range s.Blobs.List(ctx, stack.Prefix()) {
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

// superfluous returns the blobs to remove. The runs are ordered by age. The newest document of a plan
// stays: policies are tried on it.
func superfluous(runs []leftRun, named []string, r PruneRequest) (done Pruned, goes []blob.Info) {
	newer, newest, newerReads := 0, true, 0
	for _, left := range slices.Backward(runs) {
		if left.reads {
			newerReads++
		} else {
			newer++
		}
		keepsDocument := newest && left.has(run.BlobPlanShow)
		newest = newest && !keepsDocument
		idle := r.Now.Sub(left.at)
		repeated := slices.Contains(r.Repeated, left.id)
		switch {
		case slices.Contains(named, left.id):
			if repeated {
				done.Left = append(done.Left, left.id)
			}
		case repeated && idle < replaced:
			done.Left = append(done.Left, left.id)
		case left.reads && idle >= settled && (newerReads > reads || idle > readAge):
			done.Runs++
			goes = append(goes, ordered(left.parts)...)
		case left.reads:
		case repeated, idle >= settled && (r.Keep.Runs > 0 && newer > r.Keep.Runs || r.Keep.Age > 0 && idle > r.Keep.Age):
			done.Runs++
			newer--
			newest = newest || keepsDocument
			goes = append(goes, ordered(left.parts)...)
		case idle >= settled:
			goes = append(goes, spent(left.parts, keepsDocument)...)
		}
	}
	return done, goes
}

func (l *leftRun) has(part string) bool {
	return slices.ContainsFunc(l.parts, func(info blob.Info) bool { return strings.HasSuffix(info.Key, "/"+part) })
}

// ordered puts the record first.
func ordered(parts []blob.Info) []blob.Info {
	slices.SortFunc(parts, func(a, b blob.Info) int { return rank(a) - rank(b) })
	return parts
}

func rank(info blob.Info) int {
	return slices.Index(runParts, info.Key[strings.LastIndex(info.Key, "/")+1:])
}

func isRecord(info blob.Info) bool { return rank(info) == 0 }

// spent returns the files of a plan that can no longer be applied or reviewed. Readable ones stay.
func spent(parts []blob.Info, keepsDocument bool) []blob.Info {
	var goes []blob.Info
	for _, part := range parts {
		_, name := path.Split(part.Key)
		if name == run.BlobPlan || name == run.BlobPlanOutputs || name == run.BlobPlanShow && !keepsDocument {
			goes = append(goes, part)
		}
	}
	return goes
}
