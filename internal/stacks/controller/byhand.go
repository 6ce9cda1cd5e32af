// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// A manual operation is a run like others: recorded, logged, named in the status, exclusive, with
// the lock. But its result says nothing about the declared stack, and it may run on a suspended
// one.

// attemptsByHand limits retries after concurrent changes of the object.
const attemptsByHand = 5

// recordingPatience is how long a request waits until the end of the previous run is recorded:
// programs request one operation after another.
const (
	recordingPatience = 10 * time.Second
	recordingPause    = 20 * time.Millisecond
)

// errBeingRecorded means that the previous run has ended, but the status does not show it yet.
var errBeingRecorded = errors.New("the end of the previous run is being recorded")

// maxPushed limits a state pushed to a custom backend: it travels in the run's record.
const maxPushed = 16 << 20

// Operate starts a requested operation and returns its run. An operation of the server itself has
// then ended. A *run.RefusedError or *state.LockedError says why it did not start.
func (r *Reconciler) Operate(ctx context.Context, name types.NamespacedName, req run.Request) (run.Record, error) {
	patience := time.NewTimer(recordingPatience)
	defer patience.Stop()
	for attempt := 1; ; attempt++ {
		var obj infrav1.Terraform
		if err := r.Reader.Get(ctx, name, &obj); err != nil {
			return run.Record{}, err
		}
		p := &gathered{held: held{collected: collected{pass: *r.pass(&obj)}}}
		rec, err := r.describeByHand(ctx, p, req)
		if errors.Is(err, errBeingRecorded) {
			select {
			case <-time.After(recordingPause):
				attempt--
				continue
			case <-patience.C:
				err = busy(p.stack, "The previous run")
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err != nil {
			return run.Record{}, err
		}
		err = r.holdByHand(ctx, &p.pass, *rec)
		if apierrors.IsConflict(err) && attempt < attemptsByHand {
			continue
		}
		if err != nil {
			return run.Record{}, err
		}
		return r.Runs.Begin(ctx, *rec)
	}
}

// describeByHand checks that the request is possible now, and drafts the run.
func (r *Reconciler) describeByHand(ctx context.Context, p *gathered, req run.Request) (*run.Record, error) {
	rec := &run.Record{Created: p.now.UTC(), Token: run.NewToken(), Generation: p.obj.Generation, Announced: true, By: req.By, Urgency: run.UrgencyAwaited,
		Trigger: "requested by " + orUnknown(req.By),
		State:   stateRefOf(p.obj)}
	if err := r.mayOperate(ctx, &p.pass, req); err != nil {
		return nil, err
	}
	if req.Change != nil && req.Change.Verb == run.StateRollback {
		change := *req.Change
		change.Expect = req.Expect // the server compares again, under the lock
		req.Change = &change
	}
	if req.Change != nil && req.Change.Verb == run.StateMigrate {
		return r.describeMigration(ctx, p, req, rec)
	}
	spec := run.Spec{Operation: req.Operation, StateChange: req.Change, Stack: p.stack, Workspace: p.obj.WorkspaceName(),
		Backend: run.Backend{Kind: backendKind(p.obj)}, Limits: r.Limits}
	if !spec.AtServer() {
		configured, err := r.specByHand(ctx, p, req)
		if err != nil {
			return nil, err
		}
		if problem := backendProblem(p); problem != "" {
			return nil, &run.RefusedError{Message: fmt.Sprintf("%s: %s", p.stack, problem)}
		}
		spec = configured
	}
	spec.Protocol, spec.ID, spec.Purpose = run.ProtocolVersion, run.NewID(p.now), run.PurposePerson
	rec.Spec = spec
	if spec.AtServer() {
		return rec, nil
	}
	var err error
	// Init installs providers, and the tool executes them, as in other runs.
	if rec.Spec.ReviewInit, err = judgeOf(r).mayExecute(ctx, p); err != nil {
		return nil, err
	}
	rec.Policies = p.facts.Policy.Set
	rec.Place, err = placeOf(r.Rules, p.obj, spec.ID)
	return rec, err
}

// mayExecute asks the policies about the configuration of a run that does not come from a decision:
// without their answer nothing of it is executed. inRun: the run asks again once it has the modules
// from elsewhere.
func (j policyJudge) mayExecute(ctx context.Context, p *gathered) (inRun bool, err error) {
	if err := j.gatherPolicy(Patiently(ctx), p); err != nil {
		return false, err
	}
	switch policy := p.facts.Policy; {
	case policy.Problem != "":
		return false, &run.RefusedError{Message: fmt.Sprintf("prepare %s: no run starts while its policies are not known: %s. Try again", p.stack, policy.Problem)}
	case policy.Refused != "":
		return false, &run.RefusedError{Forbidden: true, Policy: true, Message: fmt.Sprintf("prepare %s: refused by its policies, so nothing of it was executed: %s. "+
			"Change the configuration, or ask the policy's editors for an exemption", p.stack, policy.Refused)}
	}
	return p.facts.Policy.InRun, nil
}

func backendKind(obj *infrav1.Terraform) run.BackendKind {
	if obj.KeepsOwnState() {
		return run.BackendOwn
	}
	return run.BackendManaged
}

func orUnknown(name string) string { return cmp.Or(name, "an unknown user") }

// mayOperate says why the request is not possible now.
func (r *Reconciler) mayOperate(ctx context.Context, p *pass, req run.Request) error {
	obj := p.obj
	if message := moving.Held(obj); message != "" && !bringsBack(obj, req) {
		return &run.RefusedError{Message: fmt.Sprintf("%s: %s", p.stack, message)}
	}
	if err := mayRollBack(obj, req); err != nil {
		return err
	}
	own := obj.KeepsOwnState()
	if c := req.Change; c != nil && !own && c.Verb == run.StateUnlock {
		return &run.RefusedError{Message: fmt.Sprintf("break the lock of %s: Yuba keeps its state, and releases the lock without a run:\n    yuba force-unlock %s %s",
			p.stack, p.stack, c.Args[0])}
	}
	if c := req.Change; c != nil && own {
		switch {
		case c.Verb == run.StateRollback:
			return &run.RefusedError{Message: fmt.Sprintf("%s keeps its state in a custom backend, and Yuba stores no versions of it: "+
				"use the backend's own versions", p.stack)}
		case len(c.State) > maxPushed:
			return &run.RefusedError{Message: fmt.Sprintf("push a state of %d bytes to the backend of %s: Yuba pushes at most %d bytes. Push it from a shell:\n"+
				"    yuba shell %s -- tofu state push FILE", len(c.State), p.stack, maxPushed, p.stack)}
		}
	}
	if err := r.mayBegin(ctx, p); err != nil {
		return err
	}
	if own {
		return nil
	}
	holder, err := r.States.HolderNow(ctx, stateKeyOf(obj))
	if err != nil {
		return err
	}
	if holder != nil {
		return &state.LockedError{Key: stateKeyOf(obj), Info: *holder, Action: "lock"}
	}
	return r.checkExpected(ctx, p, req)
}

// bringsBack reports whether a request brings the state of a stack back that another owner had.
func bringsBack(obj *infrav1.Terraform, req run.Request) bool {
	return moving.Returning(obj) && req.Change != nil && req.Change.Verb == run.StatePush
}

// mayBegin returns an error that names the run that prevents another from starting.
func (r *Reconciler) mayBegin(ctx context.Context, p *pass) error {
	rec, _, inHand := r.Runs.InHand(p.stack)
	switch ref := p.obj.Status.CurrentRun; {
	case inHand && rec.Result != nil:
		return errBeingRecorded
	case inHand:
		return busy(p.stack, "Run "+rec.Spec.ID+" ("+rec.Spec.Title()+")")
	case ref != nil:
		named, err := r.Runs.Record(ctx, p.stack, ref.ID)
		if err == nil && named.Result != nil {
			return errBeingRecorded
		}
		return busy(p.stack, "Run "+ref.ID+" ("+ref.Operation+")")
	}
	return nil
}

// checkExpected refuses a request if the state is not the one that the person read.
func (r *Reconciler) checkExpected(ctx context.Context, p *pass, req run.Request) error {
	if req.Expect == "" {
		return nil
	}
	now, err := r.States.Read(ctx, stateKeyOf(p.obj))
	if err != nil {
		return err
	}
	if now.Digest != req.Expect {
		return &run.RefusedError{Message: fmt.Sprintf("the state of %s has changed since you read it: its serial is now %d. Read it again", p.stack, now.Serial)}
	}
	return nil
}

func busy(stack run.Stack, what string) error {
	return &run.RefusedError{Message: fmt.Sprintf("%s of %s is in progress, and a stack has one run at a time.\n"+
		"Wait for it; suspend the stack to keep another from starting:\n    yuba logs %s -f\n    yuba suspend %s", what, stack, stack, stack)}
}

// specByHand returns the current configuration, or the last applied one if that is unusable.
func (r *Reconciler) specByHand(ctx context.Context, p *gathered, req run.Request) (run.Spec, error) {
	if err := r.gatherConfiguration(ctx, p); err != nil {
		return run.Spec{}, err
	}
	var spec run.Spec
	switch {
	case p.config != nil:
		var err error
		if spec, err = runDraftsOf(r).spec(ctx, p); err != nil {
			return spec, err
		}
	case p.obj.Status.LastAppliedRun != "":
		kept, err := r.Runs.Record(ctx, p.stack, p.obj.Status.LastAppliedRun)
		if err != nil {
			return spec, fmt.Errorf("read the last applied inputs: %w", err)
		}
		spec = kept.Spec
	default:
		return spec, &run.RefusedError{Message: fmt.Sprintf("cannot prepare %s: %s", p.stack, cmp.Or(p.facts.Source.Problem, p.facts.Inputs.Problem))}
	}
	lockFile, err := r.Runs.LockFile(ctx, p.stack)
	if err != nil {
		return spec, err
	}
	spec.LockFile, spec.Operation, spec.StateChange = lockFile, req.Operation, req.Change
	spec.Plan, spec.Unless, spec.Destroy, spec.Upgrade, spec.ForceUnlock = nil, "", false, false, ""
	spec.Describe, spec.Review, spec.PlanText, spec.ReadOutputs, spec.ReadResources = false, false, false, false, false
	return spec, nil
}

// holdByHand reserves the stack and names the run in its status, on the version that was read.
func (r *Reconciler) holdByHand(ctx context.Context, p *pass, rec run.Record) error {
	if err := r.Runs.Hold(rec); err != nil {
		if errors.Is(err, run.ErrBusy) {
			return busy(p.stack, "Another run")
		}
		return err
	}
	p.obj.Status.CurrentRun = queued(&rec)
	err := r.patchStatus(ctx, p.obj, p.before)
	if err != nil {
		r.Runs.LetGo(p.stack, rec.Spec.ID)
	}
	return err
}

// takeByHand records the end of a manual operation. A changed state needs a new plan.
func takeByHand(p *collected, rec run.Record) {
	status, result := &p.obj.Status, rec.Result
	takeMigration(p.obj, rec)
	takeUnlock(p.obj, rec)
	if ref := status.CurrentRun; ref != nil && ref.ID == rec.Spec.ID {
		status.CurrentRun = nil
	}
	if status.Plan.Pending != "" && mayHaveMoved(rec) {
		status.Plan.Digest, status.Plan.RunID = "", ""
	}
	succeeded := result.Outcome == run.OutcomeSucceeded
	if c := rec.Spec.StateChange; c != nil && c.Verb.Inspects() && succeeded {
		return // on a terminal, each line of a console is such a run
	}
	p.notes = append(p.notes, note{warning: !succeeded, reason: infrav1.ReasonDoneByHand, action: "ByHand",
		message: strings.TrimSuffix(fmt.Sprintf("%s, requested by %s: %s. %s", rec.Spec.Title(), orUnknown(rec.By), result.Outcome, firstLineOf(toldOf(rec))), " ")})
}

// toldOf is what an event tells of a result. What was read of a state is only for the person who asked.
func toldOf(rec run.Record) string {
	if c := rec.Spec.StateChange; c != nil && c.Verb.Reads() {
		return ""
	}
	return cmp.Or(rec.Result.Error, rec.Result.Text)
}

// mayHaveMoved reports whether a run may have changed the state.
func mayHaveMoved(rec run.Record) bool {
	if rec.Spec.Backend.Kind == run.BackendManaged && !rec.Spec.AtServer() && rec.Result.Outcome == run.OutcomeSucceeded {
		return rec.StatesStored > 0
	}
	return rec.Result.ApplyStarted
}
