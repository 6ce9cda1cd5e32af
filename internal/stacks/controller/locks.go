// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/shell"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// indexState finds the stacks whose state a Lease locks: "namespace/lease".
const indexState = "yuba.state"

// decide makes the decision. Before a run begins, it reads the lock holder from the API: the watch
// may lag, and a Lease of another program may lack the watched labels.
func (r *Reconciler) decide(ctx context.Context, g *gathered) (*decided, error) {
	p := &decided{gathered: *g, decision: decide.Decide(g.facts)}
	if p.decision.Verb.StartsRun() && !p.obj.KeepsOwnState() && p.noState == nil {
		if err := stateLocksOf(r).gatherLock(ctx, &p.gathered, r.States.HolderNow); err != nil {
			return nil, err
		}
		if p.facts.Lock != nil {
			p.decision = decide.Decide(p.facts)
		}
	}
	outagesOf(r).decline(p)
	r.looks.note(p.stack, p.decision, p.now)
	r.Log.Debug("decided", "stack", p.stack.String(), "decision", p.decision.String())
	if r.Observe != nil {
		r.Observe(p.decision, p.over != nil)
	}
	return p, nil
}

func (k stateLocks) gatherHolder(ctx context.Context, p *gathered) error {
	return k.gatherLock(ctx, p, k.states.Holder)
}

func (k stateLocks) gatherLock(ctx context.Context, p *gathered, ask func(context.Context, state.Key) (*state.LockInfo, error)) error {
	holder, err := ask(ctx, stateKeyOf(p.obj))
	if err != nil {
		return err
	}
	// Ignore our own run's lock. An ended run releases its lock before its end is reported.
	if holder == nil || p.facts.Current != nil && holder.ID == p.facts.Current.ID {
		return nil
	}
	lock := &decide.Lock{ID: holder.ID, Who: holder.Who, Operation: holder.Operation, Since: holder.Created}
	if lock.Alive = k.runs.Working(holder.ID); !lock.Alive {
		if lock.Over, err = k.isOver(ctx, p.stack, holder); err != nil {
			return err
		}
	}
	p.facts.Lock = lock
	return nil
}

// infoOfRun begins the description in the lock of a run.
const infoOfRun = "yuba run "

// isOver reports whether the lock's run has ended, or could not change anything yet, as after a
// crash or a restored backup. A person breaks the lock of a permitted run without a result.
func (k stateLocks) isOver(ctx context.Context, stack run.Stack, holder *state.LockInfo) (bool, error) {
	if holder.Info != infoOfRun+holder.ID || strings.Contains(holder.ID, "/") {
		return false, nil
	}
	rec, err := k.runs.Record(ctx, stack, holder.ID)
	switch {
	case errors.Is(err, run.ErrNotFound), errors.Is(err, run.ErrDamaged):
		return false, nil
	case err != nil:
		return false, err
	}
	return rec.Result != nil || !rec.Permitted && !rec.Spec.Operation.ByHand(), nil
}

// unlock breaks the lock of the decision. The next pass notices another holder.
func (k stateLocks) unlock(ctx context.Context, p *acted) error {
	d := p.decision
	err := k.states.Unlock(ctx, stateKeyOf(p.obj), d.Subject)
	var others *state.LockedError
	if errors.As(err, &others) {
		return nil
	}
	if err != nil {
		return err
	}
	p.unlocked = true
	p.notes = append(p.notes, note{warning: d.Reason == decide.ReasonForceUnlock, reason: d.Reason, action: "Unlock", message: d.Message})
	return nil
}

// lockToBreak returns the lock of a custom backend that blocked the last run and may be broken.
func lockToBreak(obj *infrav1.Terraform) string {
	spec, pending := obj.Spec.TFState, obj.Status.Lock.Pending
	if spec == nil || !obj.KeepsOwnState() {
		return ""
	}
	named := spec.ForceUnlock == infrav1.ForceUnlockYes && spec.LockIdentifier == pending
	if named || spec.ForceUnlock == infrav1.ForceUnlockAuto {
		return pending
	}
	return ""
}

func describeLock(p *acted) {
	obj, l, d := p.obj, p.facts.Lock, p.decision
	switch {
	case l != nil && d.Verb == decide.VerbUnlock && p.unlocked && d.Reason == decide.ReasonForceUnlock:
		lockBroken(obj, l.ID)
	case l != nil && d.Reason == decide.ReasonLockHeld:
		lockMet(obj, l.ID)
	case l == nil && obj.Status.Lock.Pending != "" && !obj.KeepsOwnState():
		lockGone(obj)
	}
}

func lockMet(obj *infrav1.Terraform, id string) {
	obj.Status.Lock.Pending = id
	setCondition(obj, infrav1.ConditionStateLocked, metav1.ConditionTrue, infrav1.ReasonLockHeld, fmt.Sprintf(infrav1.MessageLocked, id))
}

func lockBroken(obj *infrav1.Terraform, id string) {
	obj.Status.Lock.Pending, obj.Status.Lock.LastApplied = "", id
	setCondition(obj, infrav1.ConditionStateLocked, metav1.ConditionFalse, infrav1.ReasonForceUnlock, fmt.Sprintf(infrav1.MessageUnlocked, id))
}

func lockGone(obj *infrav1.Terraform) {
	obj.Status.Lock.Pending = ""
	conditions.Remove(obj, infrav1.ConditionStateLocked)
}

// recordLock records a run's findings about the lock of a custom backend.
func recordLock(obj *infrav1.Terraform, rec run.Record) {
	result, broke := rec.Result, rec.Spec.ForceUnlock
	// The tool breaks the lock before it plans.
	planned := result.Outcome == run.OutcomeSucceeded || result.Plan != nil
	if met := result.Lock; met != nil && result.Class == run.FailureLocked {
		if broke != "" && broke != met.ID {
			lockBroken(obj, broke)
		}
		lockMet(obj, met.ID)
		return
	}
	switch {
	case broke != "" && planned:
		lockBroken(obj, broke)
	case planned && obj.KeepsOwnState() && obj.Status.Lock.Pending != "":
		lockGone(obj)
	}
}

// takeUnlock records that a person broke the lock of a custom backend.
func takeUnlock(obj *infrav1.Terraform, rec run.Record) {
	change := rec.Spec.StateChange
	if change == nil || change.Verb != run.StateUnlock || rec.Result.Outcome != run.OutcomeSucceeded || obj.Status.Lock.Pending != change.Args[0] {
		return
	}
	lockBroken(obj, change.Args[0])
}

// lockAdvice says how to break the lock of a custom backend.
func lockAdvice(obj *infrav1.Terraform, r *run.Result) string {
	if r.Class != run.FailureLocked || r.Lock == nil {
		return ""
	}
	if r.FailedStep == run.StepInit {
		return "\nThe tool cannot break this lock: init takes it to create the first state. If the holder is gone, remove the lock " +
			"in the backend, such as the Lease of the kubernetes backend."
	}
	if r.Lock.Who == "" {
		return fmt.Sprintf("\nThe backend does not say who holds the lock: what is above describes this attempt. If nobody works with the state, break the lock:\n"+
			"    yuba force-unlock %s -n %s %s", obj.Name, obj.Namespace, shell.Quote(r.Lock.ID))
	}
	return fmt.Sprintf("\nIf the holder is gone, break the lock:\n    yuba force-unlock %s -n %s %s", obj.Name, obj.Namespace, shell.Quote(r.Lock.ID))
}

// lockMessage says who holds the lock, since when, and how to release it.
func lockMessage(p *gathered) string {
	l := p.facts.Lock
	by, since := cmp.Or(l.Who, "an unknown holder"), ""
	if !l.Since.IsZero() {
		since = " since " + sinceText(l.Since)
	}
	return fmt.Sprintf("State locked by %s%s (lock %s). Another run may be writing it. If that run is gone:\n    yuba force-unlock %s -n %s %s",
		by, since, l.ID, p.obj.Name, p.obj.Namespace, l.ID)
}

// stateLease names the Lease that locks a stack's state, for the index.
func stateLease(t *infrav1.Terraform) []string {
	if t.KeepsOwnState() {
		return nil
	}
	return []string{t.Namespace + "/" + t.LeaseName()}
}

// annotationLock is where OpenTofu's backend and Yuba record the holder of a lock.
const annotationLock = "app.terraform.io/lock-info"

// released reconciles stacks whose state was unlocked, except by their own run.
func (f relatives) released() handler.EventHandler {
	enqueueStacks := func(ctx context.Context, lease client.Object, holder string, q requests) {
		var list infrav1.TerraformList
		key := client.ObjectKeyFromObject(lease).String()
		if err := f.stacks.List(ctx, &list, client.MatchingFields{indexState: key}, client.UnsafeDisableDeepCopy); err != nil {
			f.log.Error("cannot find the stacks whose state was unlocked", "lease", key, "error", err)
		}
		for i := range list.Items {
			if ref := list.Items[i].Status.CurrentRun; holder == "" || ref == nil || ref.ID != holder {
				enqueue(q, client.ObjectKeyFromObject(&list.Items[i]))
			}
		}
	}
	return handler.Funcs{
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) { enqueueStacks(ctx, e.Object, "", q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			was, is := e.ObjectOld.GetAnnotations()[annotationLock], e.ObjectNew.GetAnnotations()[annotationLock]
			if was == is || is != "" {
				return
			}
			var info state.LockInfo
			if json.Unmarshal([]byte(was), &info) != nil {
				info.ID = ""
			}
			enqueueStacks(ctx, e.ObjectNew, info.ID, q)
		},
	}
}
