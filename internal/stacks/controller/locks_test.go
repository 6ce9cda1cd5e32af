// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func ownBackend(t *infrav1.Terraform) {
	t.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: `backend "http" {}`}
}

func breaking(how infrav1.ForceUnlock, id string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Spec.TFState = &infrav1.TFStateSpec{ForceUnlock: how, LockIdentifier: id}
	}
}

// onLock is what a status says about locks.
type onLock struct{ Pending, Broken, Condition string }

func lockOf(obj *infrav1.Terraform) onLock {
	says := onLock{Pending: obj.Status.Lock.Pending, Broken: obj.Status.Lock.LastApplied}
	if c := conditions.Of(obj, infrav1.ConditionStateLocked); c.Type != "" {
		says.Condition = fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
	}
	return says
}

const (
	isLocked = "True LockHeld: Terraform Locked with Lock Identifier: "
	isBroken = "False ForceUnlock: Terraform Force Unlock with Lock Identifier: "
)

func TestLockOfACustomBackendInTheStatus(t *testing.T) {
	locked := func(id string) run.Result {
		return run.Result{Outcome: run.OutcomeFailed, Class: run.FailureLocked, FailedStep: run.StepPlan, Error: "Error acquiring the state lock", Lock: &run.Lock{ID: id}}
	}
	breaks := func(id string) func(*run.Record) { return func(r *run.Record) { r.Spec.ForceUnlock = id } }
	for sentence, test := range map[string]struct {
		change []func(*infrav1.Terraform)
		result run.Result
		rec    []func(*run.Record)
		want   onLock
	}{
		"a lock blocks the run":                           {nil, locked("lock-1"), nil, onLock{"lock-1", "", isLocked + "lock-1"}},
		"the lock still blocks the run":                   {[]func(*infrav1.Terraform){lockPending}, locked("lock-1"), nil, onLock{"lock-1", "", isLocked + "lock-1"}},
		"the lock was broken":                             {[]func(*infrav1.Terraform){lockPending}, noChanges, []func(*run.Record){breaks("lock-1")}, onLock{"", "lock-1", isBroken + "lock-1"}},
		"the lock was broken, then the apply failed":      {[]func(*infrav1.Terraform){lockPending}, run.Result{Outcome: run.OutcomeFailed, Plan: &run.PlanResult{Changes: true}, ApplyStarted: true}, []func(*run.Record){breaks("lock-1")}, onLock{"", "lock-1", isBroken + "lock-1"}},
		"the lock was broken, and another blocks the run": {[]func(*infrav1.Terraform){lockPending}, locked("lock-2"), []func(*run.Record){breaks("lock-1")}, onLock{"lock-2", "lock-1", isLocked + "lock-2"}},
		"the lock could not be broken":                    {[]func(*infrav1.Terraform){lockPending}, locked("lock-1"), []func(*run.Record){breaks("lock-1")}, onLock{"lock-1", "", isLocked + "lock-1"}},
		"the holder released the lock":                    {[]func(*infrav1.Terraform){lockPending}, changes, nil, onLock{}},
		"a failure before the lock says nothing":          {[]func(*infrav1.Terraform){lockPending}, failed(run.StepInit, "", false), nil, onLock{"lock-1", "", "True LockHeld: x"}},
		"a success without any lock says nothing":         {nil, noChanges, nil, onLock{}},
		"a canceled run did not break the lock":           {[]func(*infrav1.Terraform){lockPending}, run.Result{Outcome: run.OutcomeCanceled}, []func(*run.Record){breaks("lock-1")}, onLock{"lock-1", "", "True LockHeld: x"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := stackObject(append(test.change, ownBackend)...)
			record(obj, ran(run.OperationPlan, test.result, test.rec...))
			if diff := cmp.Diff(test.want, lockOf(obj)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessageAboutALockOfACustomBackend(t *testing.T) {
	for step, want := range map[run.Step]string{
		run.StepPlan: "Error acquiring the state lock\nIf the holder is gone, break the lock:\n    yuba force-unlock " + stackObject().Name + " -n " + stackObject().Namespace + " lock-1",
		run.StepInit: "Error acquiring the state lock\nThe tool cannot break this lock: init takes it to create the first state. " +
			"If the holder is gone, remove the lock in the backend, such as the Lease of the kubernetes backend.",
	} {
		obj := stackObject(ownBackend)
		record(obj, ran(run.OperationPlan, run.Result{Outcome: run.OutcomeFailed, FailedStep: step, Class: run.FailureLocked, Error: "Error acquiring the state lock",
			Lock: &run.Lock{ID: "lock-1", Who: "ci@build7"}}))
		ready := conditions.Of(obj, infrav1.ConditionReady)
		if ready.Reason != infrav1.ReasonLockHeld || ready.Message != want {
			t.Errorf("%s: Ready says %s: %s", step, ready.Reason, ready.Message)
		}
	}
}

func TestWhichLockOfACustomBackendIsBroken(t *testing.T) {
	for sentence, test := range map[string]struct {
		change []func(*infrav1.Terraform)
		want   string
	}{
		"the named lock":           {[]func(*infrav1.Terraform){ownBackend, lockPending, breaking("yes", "lock-1")}, "lock-1"},
		"any":                      {[]func(*infrav1.Terraform){ownBackend, lockPending, breaking("auto", "")}, "lock-1"},
		"another lock is named":    {[]func(*infrav1.Terraform){ownBackend, lockPending, breaking("yes", "lock-2")}, ""},
		"none":                     {[]func(*infrav1.Terraform){ownBackend, lockPending, breaking("no", "lock-1")}, ""},
		"forceUnlock is not set":   {[]func(*infrav1.Terraform){ownBackend, lockPending}, ""},
		"no lock blocks the stack": {[]func(*infrav1.Terraform){ownBackend, breaking("auto", "")}, ""},
		"no lock is named, and none blocks the stack": {[]func(*infrav1.Terraform){ownBackend, breaking("yes", "")}, ""},
		"the lock of a managed state":                 {[]func(*infrav1.Terraform){lockPending, breaking("auto", "")}, ""},
	} {
		if got := lockToBreak(stackObject(test.change...)); got != test.want {
			t.Errorf("%s: %q", sentence, got)
		}
	}
}

// The status shows that a managed lock was met, broken or released.
func TestDecisionsAboutLocksInTheStatus(t *testing.T) {
	lock := &decide.Lock{ID: "lock-1"}
	for sentence, test := range map[string]struct {
		change   []func(*infrav1.Terraform)
		lock     *decide.Lock
		decision decide.Decision
		want     onLock
	}{
		"met":                               {nil, lock, decide.Decision{Verb: decide.VerbWait, Reason: decide.ReasonLockHeld}, onLock{"lock-1", "", isLocked + "lock-1"}},
		"broken":                            {[]func(*infrav1.Terraform){lockPending}, lock, decide.Decision{Verb: decide.VerbUnlock, Reason: decide.ReasonForceUnlock}, onLock{"", "lock-1", isBroken + "lock-1"}},
		"released":                          {[]func(*infrav1.Terraform){lockPending}, nil, decide.Decision{Verb: decide.VerbRest}, onLock{}},
		"released after another was broken": {[]func(*infrav1.Terraform){func(t *infrav1.Terraform) { lockBroken(t, "lock-1") }}, nil, decide.Decision{Verb: decide.VerbRest}, onLock{"", "lock-1", isBroken + "lock-1"}},
		"of a custom backend: known only from the last run": {[]func(*infrav1.Terraform){ownBackend, lockPending}, nil, decide.Decision{Verb: decide.VerbRest}, onLock{"lock-1", "", "True LockHeld: x"}},
	} {
		p := passOver(stackObject(test.change...))
		p.facts = decide.Facts{Lock: test.lock}
		p.unlocked = true
		p.decision = test.decision
		describeLock(p)
		if diff := cmp.Diff(test.want, lockOf(p.obj)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

// kept are recorded runs, none in progress.
type kept struct {
	Runs
	records map[string]run.Record
	damaged bool
}

func (k kept) Record(_ context.Context, _ run.Stack, id string) (run.Record, error) {
	if k.damaged {
		return run.Record{}, fmt.Errorf("read run %s: %w", id, run.ErrDamaged)
	}
	rec, ok := k.records[id]
	if !ok {
		return rec, fmt.Errorf("read run %s: %w", id, run.ErrNotFound)
	}
	return rec, nil
}

func TestLocksOfEndedRuns(t *testing.T) {
	over := run.Record{Result: &run.Result{}}
	for sentence, test := range map[string]struct {
		holder state.LockInfo
		runs   kept
		want   bool
	}{
		"of a run that has ended":                    {state.LockInfo{ID: "r1", Info: "yuba run r1"}, kept{records: map[string]run.Record{"r1": over}}, true},
		"of a run that was never permitted to apply": {state.LockInfo{ID: "r1", Info: "yuba run r1"}, kept{records: map[string]run.Record{"r1": {}}}, true},
		"of a run that may have changed something": {state.LockInfo{ID: "r1", Info: "yuba run r1"},
			kept{records: map[string]run.Record{"r1": {Permitted: true}}}, false},
		"of a shell that has not ended": {state.LockInfo{ID: "r1", Info: "yuba run r1"},
			kept{records: map[string]run.Record{"r1": {Spec: run.Spec{Operation: run.OperationShell}}}}, false},
		"of a run of another stack":          {state.LockInfo{ID: "r2", Info: "yuba run r2"}, kept{records: map[string]run.Record{"r1": over}}, false},
		"of a run whose record is damaged":   {state.LockInfo{ID: "r1", Info: "yuba run r1"}, kept{damaged: true}, false},
		"of plain tofu":                      {state.LockInfo{ID: "3f2a", Who: "ci@build7"}, kept{}, false},
		"of a holder with an invalid run id": {state.LockInfo{ID: "../r1", Info: "yuba run ../r1"}, kept{records: map[string]run.Record{"../r1": over}}, false},
	} {
		r := &Reconciler{Runs: test.runs}
		got, err := stateLocksOf(r).isOver(t.Context(), run.Stack{}, &test.holder)
		if got != test.want || err != nil {
			t.Errorf("%s: %v, %v", sentence, got, err)
		}
	}
	r := &Reconciler{Runs: failing{}}
	if _, err := stateLocksOf(r).isOver(t.Context(), run.Stack{}, &state.LockInfo{ID: "r1", Info: "yuba run r1"}); !errors.Is(err, errFailing) {
		t.Errorf("records that cannot be read now: %v", err)
	}
}

var errFailing = errors.New("the store does not answer")

type failing struct{ Runs }

func (failing) Record(context.Context, run.Stack, string) (run.Record, error) {
	return run.Record{}, errFailing
}
