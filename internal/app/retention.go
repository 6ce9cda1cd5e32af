// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Old data of runs is deleted stack by stack, one at a time: after every few runs of a stack, and
// once a day, spread over the day. Nothing but names is ever listed for more than one stack.

const (
	// everyRuns is the number of a stack's runs after which its data is checked.
	everyRuns = 20
	// everyRepeated is the same for drift checks with the same result as the one before.
	everyRepeated = 5
	// slots divide a day. Each stack is checked in one of them.
	slots = 24
)

// Retention limits the stored runs and states; 0 means no limit.
type Retention struct {
	// Runs and RunAge limit the stored runs of a stack: their records, logs and readable plans.
	Runs   int
	RunAge time.Duration
	// States and StateAge limit the versions of its state.
	States   int
	StateAge time.Duration
}

// DefaultRetention returns the default limits.
func DefaultRetention() Retention {
	const days = 24 * time.Hour
	return Retention{Runs: 100, RunAge: 90 * days, States: 100, StateAge: 90 * days}
}

// keeper deletes old data of runs.
type keeper struct {
	keep   Retention
	runs   runPruner
	states statePruner
	// names lists the folders of the blob store.
	names interface {
		Folders(ctx context.Context, prefix string) iter.Seq2[string, error]
	}
	// stacks reads from a cache.
	stacks client.Reader
	now    func() time.Time
	log    *slog.Logger

	mu   sync.Mutex
	ran  map[run.Stack]*ran
	due  []run.Stack
	wake chan struct{}
}

type runPruner interface {
	Prune(ctx context.Context, r records.PruneRequest) (records.Pruned, error)
	PruneGone(ctx context.Context, stack run.Stack, before time.Time) (records.Pruned, error)
}

type statePruner interface {
	Prune(ctx context.Context, key state.Key, runID string, keep state.Keep, now time.Time) (int, error)
	PruneGone(ctx context.Context, key state.Key, before time.Time) (removed int, there bool, err error)
}

// ran records what a stack has run since its last check.
type ran struct {
	runs   int
	queued bool
	// look is the last run that planned changes without applying them. repeats says that the one
	// before had the same result.
	look    look
	repeats bool
	// repeated lists plans between two others with the same result.
	repeated []string
}

type look struct{ id, changes string }

func newKeeper(k *keeper) *keeper {
	k.ran, k.wake = map[run.Stack]*ran{}, make(chan struct{}, 1)
	return k
}

// observe records a completed run. It does not block. Runs that only read are left to the daily check: on a terminal, each line of a
// console is one.
func (k *keeper) observe(rec run.Record) {
	if rec.Quiet || rec.Result == nil || rec.Reads() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.ran[rec.Spec.Stack]
	if r == nil {
		r = &ran{}
		k.ran[rec.Spec.Stack] = r
	}
	r.runs++
	r.saw(rec)
	if r.queued || r.runs < everyRuns && len(r.repeated) < everyRepeated {
		return
	}
	r.queued = true
	k.due = append(k.due, rec.Spec.Stack)
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// saw compares a plan with the previous one. Of many with the same result only the first and the
// last are kept.
func (r *ran) saw(rec run.Record) {
	seen := look{id: rec.Spec.ID}
	if p := rec.Result.Plan; p != nil && p.Changes && rec.Result.Outcome == run.OutcomeSucceeded && !rec.Result.ApplyStarted && rec.By == "" {
		seen.changes = p.ChangesDigest
	}
	same := seen.changes != "" && seen.changes == r.look.changes
	if same && r.repeats {
		r.repeated = append(r.repeated, r.look.id)
	}
	r.look, r.repeats = seen, same
}

// run deletes old data until the context ends. turns ticks at the beginning of each slot.
func (k *keeper) run(ctx context.Context, turns <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.wake:
			k.afterRuns(ctx)
		case at := <-turns:
			if err := k.turn(ctx, int(at.Unix()/3600)%slots); err != nil && ctx.Err() == nil {
				k.log.Error("deleting old data of runs failed", "error", err)
			}
		}
	}
}

// afterRuns checks the stacks that have run often.
func (k *keeper) afterRuns(ctx context.Context) {
	for ctx.Err() == nil {
		k.mu.Lock()
		if len(k.due) == 0 {
			k.mu.Unlock()
			return
		}
		stack := k.due[0]
		k.due = k.due[1:]
		k.mu.Unlock()
		k.tell(ctx, "stack", stack.String(), k.ofStack(ctx, stack))
	}
}

// tell logs a failed deletion. An error of one stack does not stop the others.
func (k *keeper) tell(ctx context.Context, kind, name string, err error) {
	if err != nil && ctx.Err() == nil {
		k.log.Error("deleting old data of runs failed", kind, name, "error", err)
	}
}

// turn checks the stacks of one slot, including deleted ones.
func (k *keeper) turn(ctx context.Context, slot int) error {
	return errors.Join(k.turnOfRuns(ctx, slot), k.turnOfStates(ctx, slot))
}

func (k *keeper) turnOfRuns(ctx context.Context, slot int) error {
	for namespace, err := range k.names.Folders(ctx, "runs/") {
		if err != nil {
			return err
		}
		for folder, err := range k.names.Folders(ctx, namespace) {
			if err != nil {
				return err
			}
			if slotOf(folder) != slot {
				continue
			}
			if err := k.ofName(ctx, folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// ofName checks all stacks, current and deleted, of a name.
func (k *keeper) ofName(ctx context.Context, folder string) error {
	for one, err := range k.names.Folders(ctx, folder) {
		if err != nil {
			return err
		}
		part := strings.Split(strings.TrimSuffix(one, "/"), "/")
		if len(part) != 4 {
			continue
		}
		stack := run.Stack{Namespace: part[1], Name: part[2], UID: part[3]}
		k.tell(ctx, "stack", stack.String(), k.ofStack(ctx, stack))
	}
	return nil
}

// ofStack deletes the old data of a stack.
func (k *keeper) ofStack(ctx context.Context, stack run.Stack) error {
	repeated := k.begin(stack)
	var obj infrav1.Terraform
	err := k.stacks.Get(ctx, client.ObjectKey{Namespace: stack.Namespace, Name: stack.Name}, &obj)
	switch {
	case apierrors.IsNotFound(err) || err == nil && string(obj.UID) != stack.UID:
		return k.ofGone(ctx, stack)
	case err != nil:
		return err
	}
	status := &obj.Status
	named := []string{status.LastAppliedRun, status.Plan.RunID}
	if status.Unproven != nil {
		for _, r := range status.Unproven.Runs {
			named = append(named, r.ID)
		}
	}
	for _, ref := range []*infrav1.RunReference{status.CurrentRun, status.LastRun} {
		if ref != nil {
			named = append(named, ref.ID)
		}
	}
	done, err := k.runs.Prune(ctx, records.PruneRequest{Stack: stack, Named: named, Repeated: repeated,
		Keep: records.Keep{Runs: k.keep.Runs, Age: k.keep.RunAge}, Now: k.now()})
	if err != nil {
		// The data still exists, and is deleted when it is old enough.
		return err
	}
	k.wait(stack, done.Left)
	if obj.KeepsOwnState() {
		return nil
	}
	_, err = k.states.Prune(ctx, state.KeyOfStack(&obj), status.LastAppliedRun, state.Keep{Versions: k.keep.States, Age: k.keep.StateAge}, k.now())
	return err
}

// ofGone deletes the data of a deleted stack when it reaches the maximum age.
func (k *keeper) ofGone(ctx context.Context, stack run.Stack) error {
	k.mu.Lock()
	delete(k.ran, stack)
	k.mu.Unlock()
	if k.keep.RunAge == 0 {
		return nil
	}
	_, err := k.runs.PruneGone(ctx, stack, k.now().Add(-k.keep.RunAge))
	return err
}

// begin starts a stack's check and returns its repeated plans.
func (k *keeper) begin(stack run.Stack) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.ran[stack]
	if r == nil {
		return nil
	}
	repeated := r.repeated
	r.runs, r.queued, r.repeated = 0, false, nil
	return repeated
}

// wait keeps repeated plans for the stack's next check. Those of an earlier server are unknown, and
// are deleted by age.
func (k *keeper) wait(stack run.Stack, repeated []string) {
	if len(repeated) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := k.ran[stack]; r != nil {
		r.repeated = append(repeated, r.repeated...)
	}
}

// turnOfStates checks the states of one slot that belong to no stack.
func (k *keeper) turnOfStates(ctx context.Context, slot int) error {
	for folder, err := range k.names.Folders(ctx, "states/") {
		if err != nil {
			return err
		}
		namespace := strings.TrimSuffix(strings.TrimPrefix(folder, "states/"), "/")
		owned, err := k.ownedStates(ctx, namespace)
		if err != nil {
			return err
		}
		for folder, err := range k.names.Folders(ctx, folder) {
			if err != nil {
				return err
			}
			secret := folder[strings.LastIndex(strings.TrimSuffix(folder, "/"), "/")+1 : len(folder)-1]
			if slotOf(folder) != slot || slices.Contains(owned, secret) {
				continue
			}
			k.tell(ctx, "state", namespace+"/"+secret, k.ofNobody(ctx, namespace, secret))
		}
	}
	return nil
}

// ownedStates returns the names of the Secrets with the states of a namespace's stacks.
func (k *keeper) ownedStates(ctx context.Context, namespace string) ([]string, error) {
	var list infrav1.TerraformList
	if err := k.stacks.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the stacks of namespace %s: %w", namespace, err)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, state.KeyOfStack(&list.Items[i]).SecretName())
	}
	return names, nil
}

// ofNobody deletes old versions of a state without a stack. If its Secret exists, the usual limits
// apply; otherwise all versions are deleted once the Secret has been gone for the maximum age.
func (k *keeper) ofNobody(ctx context.Context, namespace, secret string) error {
	key, ok := state.KeyOf(namespace, secret)
	if !ok {
		return nil
	}
	if k.keep.StateAge > 0 {
		_, there, err := k.states.PruneGone(ctx, key, k.now().Add(-k.keep.StateAge))
		if err != nil || !there {
			return err
		}
	}
	_, err := k.states.Prune(ctx, key, "", state.Keep{Versions: k.keep.States, Age: k.keep.StateAge}, k.now())
	return err
}

// slotOf returns the slot of the day for a folder.
func slotOf(folder string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(folder)) // never fails, according to its documentation
	return int(h.Sum32() % slots)
}

// throwAway deletes old data until ctx ends.
func (k *keeper) throwAway(ctx context.Context) error {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	return k.run(ctx, tick.C)
}
