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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/outages/book"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Runs is what the controller needs of the executor.
type Runs interface {
	// Prepare stores a run's record; Start queues a run whose record is stored, once.
	Prepare(ctx context.Context, rec run.Record) error
	Start(ctx context.Context, rec run.Record) error
	// Hold takes the stack's place for a run that a person asked for, LetGo gives it back, Begin puts the run on record and
	// lets it begin. run.ErrBusy says that another run is in hand.
	Hold(rec run.Record) error
	LetGo(stack run.Stack, id string)
	Begin(ctx context.Context, rec run.Record) (run.Record, error)
	// Resume takes up a run that is on record and not in hand; a record with a result is over. A run that is not on
	// record is run.ErrNotFound.
	Resume(ctx context.Context, stack run.Stack, id string) (run.Record, error)
	// InHand returns the stack's run in hand and whether it was told to stop.
	InHand(stack run.Stack) (rec run.Record, canceled, ok bool)
	// Working tells whether a run is in hand, whichever stack's it is.
	Working(id string) bool
	// Record reads a run; ReadPlan its readable plan.
	Record(ctx context.Context, stack run.Stack, id string) (run.Record, error)
	// List returns the newest runs, newest first.
	List(ctx context.Context, stack run.Stack, limit int) ([]run.Record, error)
	ReadPlan(ctx context.Context, stack run.Stack, id string) ([]byte, error)
	// ReadPart reads another of the blobs that a run left; run.ErrNotFound when it left none.
	ReadPart(ctx context.Context, stack run.Stack, id, part string) ([]byte, error)
	// TakeEnded returns the quiet pass that ended last until Recorded says that it may be forgotten, as it says of every
	// run; LastQuiet says when one last found nothing.
	TakeEnded(stack run.Stack) (run.Record, bool)
	Recorded(stack run.Stack, id string)
	LastQuiet(ctx context.Context, stack run.Stack) (time.Time, error)
	// Salvage puts on record what is known of a run whose record is damaged, and what it may have done.
	Salvage(ctx context.Context, rec run.Record) (run.Record, error)
	// LockFile reads the stack's recorded dependency lock file; nil when there is none.
	LockFile(ctx context.Context, stack run.Stack) ([]byte, error)
	// Cancel calls a run back that has not begun to change anything.
	Cancel(ctx context.Context, id string) error
	// Forget drops what is remembered of a stack that is gone.
	Forget(stack run.Stack)
}

// States is what the controller needs of the state store.
type States interface {
	Read(ctx context.Context, key state.Key, options ...state.ReadOption) (*state.Snapshot, error)
	// Holder says who holds a lock, as the watch last told it; HolderNow asks the API.
	Holder(ctx context.Context, key state.Key) (*state.LockInfo, error)
	HolderNow(ctx context.Context, key state.Key) (*state.LockInfo, error)
	Unlock(ctx context.Context, key state.Key, id string) error
	// Discard deletes a state that says nothing any more; its versions stay.
	Discard(ctx context.Context, key state.Key) error
	// Claim makes the stack an owner of the state, Leave records that the stack was deleted and leaves the state behind.
	Claim(ctx context.Context, key state.Key) error
	Leave(ctx context.Context, key state.Key, at time.Time, emptied bool) error
}

// Reconciler keeps stacks as their objects say.
type Reconciler struct {
	// Client writes; Reader reads past the cache. Stacks reads stacks from the cache, up to what was written here.
	Client client.Client
	Reader client.Reader
	Stacks *fresh.Reader
	Events events.EventRecorder
	Runs   Runs
	States States
	Source *Sources
	// AllowCrossNamespace lets sourceRef, dependsOn and cliConfigSecretRef name other namespaces.
	AllowCrossNamespace bool
	// TenantEnvPrefixes begin the keys of varsFrom that go into the environment of tenants' stacks when their programs
	// declare no such variable.
	TenantEnvPrefixes []string
	// Webhooks asks the services that stacks name about their plans.
	Webhooks Webhooks
	// Limits bound each run.
	Limits run.Limits
	// Circuits sees outages; nil when nobody looks for them.
	Circuits Circuits
	// Observe gets what each pass decided, which is often, and whether a run has just ended; nil for nobody. It must not block.
	Observe func(d decide.Decision, ended bool)
	Now     func() time.Time
	Log     *slog.Logger

	health healthBook
	stuck  stuckBook
	// looks are what was decided last.
	looks lookBook
	// applying are stacks whose apply takes its time.
	applying chan run.Stack
	// stacks is the cache of stacks, for what one has to know of others, and of the metadata of Secrets.
	stacks client.Reader
}

// Reconcile makes one pass over a stack. An error that lasts is told by the stack itself.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, req)
	r.tellStuck(ctx, req.NamespacedName, err)
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var obj infrav1.Terraform
	if err := r.Stacks.Get(ctx, req.NamespacedName, &obj); err != nil {
		if apierrors.IsNotFound(err) {
			r.looks.forget(req.NamespacedName)
			if r.Circuits != nil {
				// Its finalizer may have been taken off by hand.
				r.Circuits.Forget(book.Stack{Namespace: req.Namespace, Name: req.Name})
			}
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := obj.DeepCopy()

	// 1. Take over what ended since the last pass.
	p := &pass{obj: &obj, before: before, stack: stackOf(&obj), now: r.Now()}
	if err := r.collect(ctx, p); errors.Is(err, run.ErrBusy) {
		return ctrl.Result{RequeueAfter: busyPause}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	// 2. A stack without the finalizer could vanish with its resources.
	if err := r.ensureFinalizers(ctx, p, before); err != nil {
		return reconciling.Again(err)
	}
	// 3. Gather and decide.
	if err := r.gather(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	d, err := r.decide(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.decline(p, d)
	r.looks.note(p.stack, d, p.now)
	r.Log.Debug("decided", "stack", p.stack.String(), "decision", d.String())
	if r.Observe != nil {
		r.Observe(d, p.over != nil)
	}
	// 4. Outputs and all else that follows plans and states, whatever happens next.
	if err := r.follow(ctx, p, d); err != nil {
		return reconciling.Again(err)
	}
	// 5. Act.
	act, err := r.prepare(ctx, p, d)
	if err != nil {
		return ctrl.Result{}, err
	}
	// 6. Record, then let the run begin: the status names it first.
	describe(p, d)
	p.gate()
	obj.Status.Summary = p.summary(d)
	sameTransition(&obj, before)
	if err := r.patchStatus(ctx, &obj, before); err != nil {
		return reconciling.Again(err)
	}
	r.announce(p, before)
	if err := act(ctx); errors.Is(err, run.ErrBusy) {
		// A person was faster by a moment; what was decided is decided anew when that is over.
		return ctrl.Result{RequeueAfter: busyPause}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	return r.next(p, d), nil
}

// busyPause is how soon a stack is looked at again whose place a person's request has taken for a moment.
const busyPause = 100 * time.Millisecond

// pass is what one call of Reconcile knows.
type pass struct {
	obj *infrav1.Terraform
	// before is the object as the API has it.
	before *infrav1.Terraform
	stack  run.Stack
	now    time.Time
	facts  decide.Facts
	// inputs and source as gathered; nil when they are not usable.
	config *configuration
	// noState says why the stack cannot have the state that it names; nil when it can.
	noState *configProblem
	// takeover is the deleted stack whose state this one found; nil when there is none, or its state is this one's by now.
	takeover *infrav1.StateTakeover
	// inHand is the run in hand, if there is one.
	inHand *run.Record
	// ended is the run that was recorded in this pass, taken the id of the one that was taken over, worth recording or not.
	ended *run.Record
	taken string
	// over is the run that was taken over, failing the last one when it did not succeed.
	over, failing *run.Record
	// lastFailure is how the last run failed, if it did.
	lastFailure *run.Result
	// moved is true when a run that a person asked for may have changed the state.
	moved bool
	// inventoryKnown is true when this pass read the inventory, inventoryWarning then says what is wrong with it.
	inventoryKnown   bool
	inventoryWarning string
	// lookAgain is when the health checks are due again; zero while they go on.
	lookAgain time.Time
	// notes are events beside those that conditions tell.
	notes []note
	// dependants are the stacks that depend on this one; dependencyOutputs says what those put out that it depends on.
	dependants        []infrav1.Terraform
	dependencyOutputs []string
	// unlocked is true when this pass broke the lock that was in the way.
	unlocked bool
}

// note is an event.
type note struct {
	warning                 bool
	reason, action, message string
}

func stackOf(obj *infrav1.Terraform) run.Stack {
	return run.Stack{Namespace: obj.Namespace, Name: obj.Name, UID: string(obj.UID)}
}

func (r *Reconciler) ensureFinalizers(ctx context.Context, p *pass, before *infrav1.Terraform) error {
	obj := p.obj
	var err error
	if p.dependants, err = r.dependants(ctx, client.ObjectKeyFromObject(obj)); err != nil {
		return err
	}
	wanted := finalizersFor(obj, p.dependants)
	if !obj.DeletionTimestamp.IsZero() || slices.Equal(wanted, obj.Finalizers) {
		return nil
	}
	patched := before.DeepCopy()
	patched.Finalizers = wanted
	err = r.Client.Patch(ctx, patched, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("set the finalizers of %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	r.Stacks.Wrote(patched)
	// Go on with the object as it is now; its status is what this pass has made of it.
	obj.Finalizers, obj.ResourceVersion = patched.Finalizers, patched.ResourceVersion
	before.Finalizers, before.ResourceVersion = patched.Finalizers, patched.ResourceVersion
	return nil
}

// patchStatus writes the status when it differs, on the very version it was read from.
func (r *Reconciler) patchStatus(ctx context.Context, obj, before *infrav1.Terraform) error {
	if equality.Semantic.DeepEqual(obj.Status, before.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, obj, patch); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("write the status of %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	r.Stacks.Wrote(obj)
	return nil
}

// next says when to look again if nothing happens.
func (r *Reconciler) next(p *pass, d decide.Decision) ctrl.Result {
	if d.Verb.StartsRun() {
		return ctrl.Result{}
	}
	if d.Verb == decide.VerbUnlock {
		return ctrl.Result{RequeueAfter: time.Millisecond}
	}
	if outputsHadFailed(p.obj) {
		d.NextCheck = earlier(d.NextCheck, p.now.Add(max(p.obj.GetRetryInterval(), time.Second)))
	}
	d.NextCheck = earlier(d.NextCheck, p.lookAgain)
	if d.NextCheck.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(d.NextCheck.Sub(p.now), time.Millisecond)}
}

// earlier is the first of two moments of which either may be missing.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
