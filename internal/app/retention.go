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
	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// What runs leave is thrown away stack by stack, one at a time: after every few runs of a stack, and once a day, which is
// spread over its hours. So nothing is ever listed that belongs to more than one stack, but for their names.

const (
	// everyRuns is after how many runs of a stack what they left is looked at.
	everyRuns = 20
	// everyRepeated is the same for looks that found just what the one before them had found.
	everyRepeated = 5
	// slots divide a day: a stack's turn comes in one of them.
	slots = 24
)

// Retention says what of runs and states is kept; 0 means any number, or for ever.
type Retention struct {
	// Runs and RunAge are how many runs of a stack are kept, and for how long: their records, logs and readable plans.
	Runs   int
	RunAge time.Duration
	// States and StateAge are the same for the versions of its state.
	States   int
	StateAge time.Duration
}

// DefaultRetention is what is kept when nobody says otherwise.
func DefaultRetention() Retention {
	const days = 24 * time.Hour
	return Retention{Runs: 100, RunAge: 90 * days, States: 100, StateAge: 90 * days}
}

// Kept counts what the retention has removed since the start.
type Kept struct {
	Runs, Blobs, Versions int64
	Bytes                 int64
}

// keeper throws away what runs left.
type keeper struct {
	keep   Retention
	runs   runPruner
	states statePruner
	// names lists the folders of the blob store.
	names interface {
		Folders(ctx context.Context, prefix string) iter.Seq2[string, error]
	}
	// stacks are read from a cache.
	stacks client.Reader
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	ran     map[run.Stack]*ran
	due     []run.Stack
	wake    chan struct{}
	removed Kept
}

type runPruner interface {
	Prune(ctx context.Context, r executor.PruneRequest) (executor.Pruned, error)
	PruneGone(ctx context.Context, stack run.Stack, before time.Time) (executor.Pruned, error)
}

type statePruner interface {
	Prune(ctx context.Context, key state.Key, runID string, keep state.Keep, now time.Time) (int, error)
	PruneGone(ctx context.Context, key state.Key, before time.Time) (removed int, there bool, err error)
}

// ran is what a stack has run since its turn came last.
type ran struct {
	runs   int
	queued bool
	// look is the last run that planned changes and applied none, repeats whether the one before it had found the same.
	look    look
	repeats bool
	// repeated are looks that are of no use: the one before and the one behind them found the same.
	repeated []string
}

type look struct{ id, changes string }

func newKeeper(k *keeper) *keeper {
	k.ran, k.wake = map[run.Stack]*ran{}, make(chan struct{}, 1)
	return k
}

// observe hears of every run that ended. It does not block.
func (k *keeper) observe(rec run.Record) {
	if rec.Quiet || rec.Result == nil {
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

// saw compares a look with the one before it. Of many that find the same the first and the last are of interest.
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

// run throws away until the context ends. turns ticks when the next slot of the day begins.
func (k *keeper) run(ctx context.Context, turns <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.wake:
			k.afterRuns(ctx)
		case at := <-turns:
			if err := k.turn(ctx, int(at.Unix()/3600)%slots); err != nil && ctx.Err() == nil {
				k.log.Error("throwing away what runs have left", "error", err)
			}
		}
	}
}

// afterRuns looks at the stacks that have run often.
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

// tell says what could not be thrown away. It ends nothing: what is wrong with one stack keeps no other from its turn.
func (k *keeper) tell(ctx context.Context, kind, name string, err error) {
	if err != nil && ctx.Err() == nil {
		k.log.Error("throwing away what runs have left", kind, name, "error", err)
	}
}

// turn looks at the stacks of one slot of the day, those that are gone among them.
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

// ofName looks at all stacks that have, or had, a name.
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

// ofStack throws away what a stack does not need any more.
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
	done, err := k.runs.Prune(ctx, executor.PruneRequest{Stack: stack, Named: named, Repeated: repeated,
		Keep: executor.Keep{Runs: k.keep.Runs, Age: k.keep.RunAge}, Now: k.now()})
	k.count(Kept{Runs: int64(done.Runs), Blobs: int64(done.Blobs), Bytes: done.Bytes})
	if err != nil {
		// What was to go is still there, or goes with its time.
		return err
	}
	k.wait(stack, done.Left)
	if obj.KeepsOwnState() {
		return nil
	}
	n, err := k.states.Prune(ctx, state.KeyOfStack(&obj), status.LastAppliedRun, state.Keep{Versions: k.keep.States, Age: k.keep.StateAge}, k.now())
	k.count(Kept{Versions: int64(n)})
	return err
}

// ofGone throws away what is left of a stack that is gone, once it is as old as what others keep.
func (k *keeper) ofGone(ctx context.Context, stack run.Stack) error {
	k.mu.Lock()
	delete(k.ran, stack)
	k.mu.Unlock()
	if k.keep.RunAge == 0 {
		return nil
	}
	done, err := k.runs.PruneGone(ctx, stack, k.now().Add(-k.keep.RunAge))
	k.count(Kept{Runs: int64(done.Runs), Blobs: int64(done.Blobs), Bytes: done.Bytes})
	return err
}

// begin starts a stack's turn and returns the looks that are of no use.
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

// wait has looks wait for the stack's next turn. Those of an earlier server are not known and go with their time.
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

// turnOfStates looks at the states of one slot of the day. Those of stacks had their turn with them.
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

// ownedStates are the names of the Secrets with the states of a namespace's stacks.
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

// ofNobody throws away versions of a state that no stack has: of one whose Secret is there as of any other, of one
// without a Secret all of them, once that has been gone for as long as others keep theirs.
func (k *keeper) ofNobody(ctx context.Context, namespace, secret string) error {
	key, ok := state.KeyOf(namespace, secret)
	if !ok {
		return nil
	}
	if k.keep.StateAge > 0 {
		n, there, err := k.states.PruneGone(ctx, key, k.now().Add(-k.keep.StateAge))
		k.count(Kept{Versions: int64(n)})
		if err != nil || !there {
			return err
		}
	}
	n, err := k.states.Prune(ctx, key, "", state.Keep{Versions: k.keep.States, Age: k.keep.StateAge}, k.now())
	k.count(Kept{Versions: int64(n)})
	return err
}

func (k *keeper) count(more Kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.removed.Runs += more.Runs
	k.removed.Blobs += more.Blobs
	k.removed.Bytes += more.Bytes
	k.removed.Versions += more.Versions
}

// Removed is what was thrown away since the start.
func (k *keeper) Removed() Kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.removed
}

// slotOf is the slot of the day in which a folder has its turn.
func slotOf(folder string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(folder)) // never fails, see its documentation
	return int(h.Sum32() % slots)
}

// throwAway is the keeper at work.
func (k *keeper) throwAway(ctx context.Context) error {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	return k.run(ctx, tick.C)
}
