// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/outages/circuits"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/health"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Runs is the part of the executor that the controller uses.
type Runs interface {
	// Prepare stores a run's record; Start queues it, once.
	Prepare(ctx context.Context, rec run.Record) error
	Start(ctx context.Context, rec run.Record) error
	// Hold reserves the stack for a run that a person requested, LetGo releases it, Begin records
	// and starts the run. run.ErrBusy means that the stack has another run.
	Hold(rec run.Record) error
	LetGo(stack run.Stack, id string)
	Begin(ctx context.Context, rec run.Record) (run.Record, error)
	// Resume continues a recorded run of an earlier server; one with a result has ended.
	// run.ErrNotFound means that there is no record.
	Resume(ctx context.Context, stack run.Stack, id string) (run.Record, error)
	// InHand returns the stack's current run and whether it was asked to stop.
	InHand(stack run.Stack) (rec run.Record, canceled, ok bool)
	// Working reports whether a run of any stack is in progress.
	Working(id string) bool
	// Record reads a run; ReadPlan its readable plan.
	Record(ctx context.Context, stack run.Stack, id string) (run.Record, error)
	// List returns the newest runs, newest first.
	List(ctx context.Context, stack run.Stack, limit int) ([]run.Record, error)
	ReadPlan(ctx context.Context, stack run.Stack, id string) ([]byte, error)
	// ReadPart reads another blob of a run; run.ErrNotFound if it does not exist.
	ReadPart(ctx context.Context, stack run.Stack, id, part string) ([]byte, error)
	// TakeEnded returns the last quiet run until Recorded is called, as it is for every run.
	// LastQuiet is when one last found nothing.
	TakeEnded(stack run.Stack) (run.Record, bool)
	Recorded(stack run.Stack, id string)
	LastQuiet(ctx context.Context, stack run.Stack) (time.Time, error)
	// Salvage replaces a damaged record by the known facts about the run and its possible
	// leftovers.
	Salvage(ctx context.Context, rec run.Record) (run.Record, error)
	// LockFile reads the stack's recorded dependency lock file; nil if there is none.
	LockFile(ctx context.Context, stack run.Stack) ([]byte, error)
	// Cancel stops a run that has not begun to change anything.
	Cancel(ctx context.Context, id string) error
	// Forget drops the memory of a deleted stack.
	Forget(stack run.Stack)
}

// States is the part of the state store that the controller uses.
type States interface {
	Read(ctx context.Context, key state.Key, options ...state.ReadOption) (*state.Snapshot, error)
	// Holder returns the holder of a lock as the watch last reported it; HolderNow asks the API.
	Holder(ctx context.Context, key state.Key) (*state.LockInfo, error)
	HolderNow(ctx context.Context, key state.Key) (*state.LockInfo, error)
	Unlock(ctx context.Context, key state.Key, id string) error
	// Discard deletes an empty state; its versions stay.
	Discard(ctx context.Context, key state.Key) error
	// Claim makes the stack an owner of the state; Leave records that the stack was deleted.
	Claim(ctx context.Context, key state.Key) error
	Leave(ctx context.Context, key state.Key, at time.Time, emptied bool) error
}

// Reconciler reconciles stacks.
type Reconciler struct {
	// Client writes; Reader bypasses the cache. Stacks reads the cache, at least as of our last
	// write.
	Client client.Client
	Reader client.Reader
	Stacks *fresh.Reader
	Events events.EventRecorder
	Runs   Runs
	States States
	Source *reads.Sources
	Rules  reads.Rules
	// Webhooks asks the services that stacks name about their plans.
	Webhooks Webhooks
	// Policies judges plans; nil if this API serves no policies.
	Policies Policies
	// Contracts connects producers and consumers; nil if this API serves no contracts.
	Contracts Contracts
	// Limits bound each run.
	Limits run.Limits
	// Circuits detects outages; may be nil.
	Circuits Circuits
	// Notices returns warnings about the versions of modules and providers that a stack uses; may be
	// nil; must not block.
	Notices func(run.Stack) []string
	// PinnedTool returns the tool that a namespace sets for stacks without spec.tool; may be nil.
	// Without an answer no run starts: another version could write a state that this one cannot read.
	PinnedTool func(ctx context.Context, namespace string) (run.Tool, error)
	// Observe receives each decision, and whether a run has just ended; may be nil; must not block.
	Observe func(d decide.Decision, ended bool)
	Now     func() time.Time
	Log     *slog.Logger

	health health.Book
	stuck  stuckBook
	// looks has the last decisions.
	looks lookBook
	// applying has the stacks whose apply takes long.
	applying chan run.Stack
	// stacks is the cache of stacks and of the metadata of Secrets.
	stacks client.Reader
}

// Reconcile runs a stack through the stages of a pass. Lasting errors go to its status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, req.NamespacedName)
	switch {
	case errors.Is(err, run.ErrBusy):
		// A person's request reserved the stack a moment ago: decide again when it has begun.
		result, err = ctrl.Result{RequeueAfter: busyPause}, nil
	case errors.Is(err, ErrPoliciesBusy):
		result, err = ctrl.Result{RequeueAfter: policiesPause}, nil
	}
	r.tellStuck(ctx, req.NamespacedName, err)
	if err != nil {
		return reconciling.Again(err)
	}
	return result, nil
}

// busyPause is how soon a reserved stack is reconciled again.
const busyPause = 100 * time.Millisecond

func (r *Reconciler) reconcile(ctx context.Context, name types.NamespacedName) (ctrl.Result, error) {
	var obj infrav1.Terraform
	if err := r.Stacks.Get(ctx, name, &obj); err != nil {
		if apierrors.IsNotFound(err) {
			r.looks.forget(name)
			if r.Circuits != nil {
				// Somebody may have removed its finalizer manually.
				r.Circuits.Forget(circuits.Stack{Namespace: name.Namespace, Name: name.Name})
			}
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	// 1. Read the runs that ended since the last pass.
	collected, err := runHistoryOf(r).collect(ctx, r.pass(&obj))
	if err != nil {
		return ctrl.Result{}, err
	}
	// 2. Set the finalizers: a stack without them could vanish with its resources.
	held, err := r.hold(ctx, collected)
	if err != nil {
		return ctrl.Result{}, err
	}
	// 3. Gather the facts and decide.
	gathered, err := r.gather(ctx, held)
	if err != nil {
		return ctrl.Result{}, err
	}
	decided, err := r.decide(ctx, gathered)
	if err != nil {
		return ctrl.Result{}, err
	}
	// 4. Write outputs and other results of plans and states, and describe the run to start.
	acted, err := r.act(ctx, decided)
	if err != nil {
		return ctrl.Result{}, err
	}
	// 5. Record the status, which names the run, and then start the run.
	recorded, err := r.record(ctx, acted)
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.begin(ctx, recorded)
}

// hold sets the stack's finalizers.
func (r *Reconciler) hold(ctx context.Context, c *collected) (*held, error) {
	obj, before := c.obj, c.before
	dependants, err := relativesOf(r).dependants(ctx, client.ObjectKeyFromObject(obj))
	if err != nil {
		return nil, err
	}
	h := &held{collected: *c, dependants: dependants}
	wanted := finalizersFor(obj, dependants)
	if !obj.DeletionTimestamp.IsZero() || slices.Equal(wanted, obj.Finalizers) {
		return h, nil
	}
	if err := reconciling.SetFinalizers(ctx, r.Client, obj, before, wanted); err != nil {
		return nil, err
	}
	r.Stacks.Wrote(before)
	return h, nil
}

// record writes the results of the pass to the status, and sends the events.
func (r *Reconciler) record(ctx context.Context, p *acted) (*recorded, error) {
	describe(p)
	p.gate()
	p.obj.Status.Summary = p.summary()
	sameTransition(p.obj, p.before)
	if err := r.patchStatus(ctx, p.obj, p.before); err != nil {
		return nil, err
	}
	r.announce(p)
	return &recorded{*p}, nil
}

// begin starts what requires a recorded decision, and returns the next check.
func (r *Reconciler) begin(ctx context.Context, p *recorded) (ctrl.Result, error) {
	switch p.decision.Verb {
	case decide.VerbCancel:
		return p.next(), r.Runs.Cancel(ctx, p.decision.Subject)
	case decide.VerbRelease:
		return p.next(), r.letGo(ctx, &p.gathered)
	}
	if p.taken != "" {
		r.Runs.Recorded(p.stack, p.taken)
	}
	if p.run == nil {
		return p.next(), r.endHold(ctx, &p.decided)
	}
	// If the status names a run without a record, the run never started.
	if err := r.Runs.Prepare(ctx, *p.run); err != nil {
		return ctrl.Result{}, err
	}
	return p.next(), r.Runs.Start(ctx, *p.run)
}

// patchStatus writes a changed status, bound to the version that was read.
func (r *Reconciler) patchStatus(ctx context.Context, obj, before *infrav1.Terraform) error {
	if equality.Semantic.DeepEqual(obj.Status, before.Status) {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, obj, reconciling.ChangeOf(before)); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("write the status of %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	r.Stacks.Wrote(obj)
	return nil
}

// next is the next check if nothing happens.
func (p *recorded) next() ctrl.Result {
	d := p.decision
	if d.Verb.StartsRun() {
		return ctrl.Result{}
	}
	if d.Verb == decide.VerbUnlock || d.Verb == decide.VerbJudge {
		return ctrl.Result{RequeueAfter: time.Millisecond}
	}
	next := times.Earlier(p.nextCheck(), p.lookAgain)
	if next.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(next.Sub(p.now), time.Millisecond)}
}

// nextCheck is when the decision is due again, or sooner if outputs could not be written.
func (p *decided) nextCheck() time.Time {
	if outputsHadFailed(p.obj) {
		return times.Earlier(p.decision.NextCheck, p.now.Add(max(p.obj.GetRetryInterval(), time.Second)))
	}
	return p.decision.NextCheck
}
