// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// The status says where a stack's state is. When the spec names another place, the stack stands still
// until a migration has copied the state there: otherwise tofu would find no state, and create
// everything a second time. So a migration that is interrupted anywhere leaves the stack waiting, and
// can be repeated.

// backendProblem says that the state is elsewhere than the configuration says; empty if it is not.
func backendProblem(p *gathered) string {
	was, known := p.obj.StateLocation()
	if !known || p.config == nil || inputs.SamePlace(was, p.config.StateLocation()) {
		return ""
	}
	return backendMoved(was, p.config.StateLocation(), p.obj)
}

func backendMoved(was, now string, obj *infrav1.Terraform) string {
	if inputs.OnlyHiddenDiffers(was, now) {
		move := fmt.Sprintf("copy the state there:\n    yuba state migrate %s -n %s", obj.Name, obj.Namespace)
		if b := obj.Status.Backend; b != nil && len(b.BackendConfigsFrom) > 0 { // they may have the only copy of the former settings
			move = "restore the former content of the ConfigMap or Secret with its settings, name another one for the new place, and " + move
		}
		return fmt.Sprintf("The state is at %s, and a setting of the backend that Yuba does not understand has changed, so the spec may name another place. "+
			"Nothing runs until you say which. If it is the same place, for example with a new password:\n    yuba state migrate %s -n %s --accept\n"+
			"Otherwise %s", was, obj.Name, obj.Namespace, move)
	}
	return fmt.Sprintf("The state is at %s, but the spec names %s. Nothing runs until the state is moved, or the spec names the former backend again. To move it:\n    yuba state migrate %s -n %s",
		was, now, obj.Name, obj.Namespace)
}

// mayRollBack refuses a rollback while the state is elsewhere: it would make an outdated copy the
// current one. A push may write the copy that a migration then accepts.
func mayRollBack(obj *infrav1.Terraform, req run.Request) error {
	was, known := obj.StateLocation()
	if c := req.Change; c == nil || c.Verb != run.StateRollback || obj.KeepsOwnState() || !known || was == inputs.ManagedLocation {
		return nil
	}
	return &run.RefusedError{Message: fmt.Sprintf("roll back %s: %s", run.StackOf(obj), backendMoved(was, inputs.ManagedLocation, obj))}
}

// learnBackend records where the state of a stack is, as soon as a run may have written it there.
func learnBackend(obj *infrav1.Terraform, rec run.Record) {
	backend := rec.Spec.Backend
	if backend.Location == "" || !hasState(rec) {
		return
	}
	_, known := obj.StateLocation()
	switch {
	case backend.Kind == run.BackendManaged && obj.Status.Backend == nil && (known || !partly(rec)):
		return // as for all others: the serial says it
	case rec.Generation == obj.Generation && !rec.UsedKept:
		obj.Status.Backend = obj.BackendAt(backend.Location)
	case !known: // the spec may name another backend than the run used
		obj.Status.Backend = &infrav1.BackendStatus{Location: backend.Location}
	}
}

// learnsBackend reports whether a run found out where the state is, which was not known.
func learnsBackend(obj *infrav1.Terraform, rec run.Record) bool {
	_, known := obj.StateLocation()
	return !known && rec.Spec.Backend.Kind != run.BackendManaged && rec.Spec.Backend.Location != "" && hasState(rec)
}

// hasState reports whether there is a state where the run looked for it.
func hasState(rec run.Record) bool {
	r := rec.Result
	return r.Applied || partly(rec) || r.Outcome == run.OutcomeSucceeded && r.Plan != nil && !r.Plan.Changes && !rec.Spec.Destroy
}

// partly reports whether an apply began and failed. It may have created something, unless Yuba keeps
// the state and got none.
func partly(rec run.Record) bool {
	m := rec.StateMark
	return rec.Result.ApplyStarted && rec.Result.Outcome != run.OutcomeSucceeded && (rec.Spec.Backend.Kind != run.BackendManaged || m != nil && m.Serial > 0)
}

// completeBackend adds the configuration of the recorded backend once the spec names it: a run of an
// earlier spec only told the location, and that of an earlier release without a digest of what is hidden.
func completeBackend(obj *infrav1.Terraform, location string) {
	b := obj.Status.Backend
	if b == nil || !inputs.SamePlace(b.Location, location) {
		return
	}
	b.Location = location
	if lacksConfiguration(b) {
		obj.Status.Backend = obj.BackendAt(location)
	}
}

func lacksConfiguration(b *infrav1.BackendStatus) bool {
	return b != nil && b.BackendConfig == nil && b.Cloud == nil && b.Location != inputs.ManagedLocation
}

// takeMigration records where a migrated state is.
func takeMigration(obj *infrav1.Terraform, rec run.Record) {
	change := rec.Spec.StateChange
	if change == nil || change.Migration == nil || change.Preview || rec.Result.Outcome != run.OutcomeSucceeded {
		return
	}
	var there infrav1.BackendStatus
	if json.Unmarshal(change.Migration.Destination, &there) != nil || there.Location == "" {
		return
	}
	obj.Status.Backend = &there
	if there.Location != inputs.ManagedLocation {
		obj.Status.StateSerial = nil
	}
}

// describeMigration drafts the run that copies the state from where it is to where the spec says.
func (r *Reconciler) describeMigration(ctx context.Context, p *gathered, req run.Request, rec *run.Record) (*run.Record, error) {
	was, known := p.obj.StateLocation()
	if !known {
		return nil, &run.RefusedError{Message: fmt.Sprintf("migrate the state of %s: it is not known where its state is, because nothing was applied or found unchanged yet. "+
			"If the stack has a state, let it plan with its former backend first:\n    yuba replan %s -n %s --wait", p.stack, p.obj.Name, p.obj.Namespace)}
	}
	if lacksConfiguration(p.obj.Status.Backend) {
		return nil, &run.RefusedError{Message: fmt.Sprintf("migrate the state of %s: it is at %s, but the configuration of that backend is not recorded. "+
			"Let the spec name it again and the stack plan once. Then migrate:\n    yuba replan %s -n %s --wait", p.stack, was, p.obj.Name, p.obj.Namespace)}
	}
	from := p.fresh(p.obj.WithBackend(p.obj.Status.Backend))
	for _, side := range []*gathered{p, from} {
		if err := r.gatherConfiguration(ctx, side); err != nil {
			return nil, err
		}
		if side.config == nil {
			return nil, &run.RefusedError{Message: fmt.Sprintf("migrate the state of %s: cannot prepare the backend: %s", p.stack, cmp.Or(side.facts.Source.Problem, side.facts.Inputs.Problem))}
		}
	}
	if inputs.SamePlace(was, p.config.StateLocation()) {
		return nil, &run.RefusedError{Message: fmt.Sprintf("migrate the state of %s: it is at %s, as the spec says. Name another backend with --to, or in the spec", p.stack, was)}
	}
	if !req.Change.Accept && !inputs.SamePlace(was, from.config.StateLocation()) {
		return nil, &run.RefusedError{Message: fmt.Sprintf("migrate the state of %s: it is at %s, but the ConfigMaps or Secrets with the settings of that backend have changed, and name %s now. "+
			"So Yuba cannot read the state where it is. Restore the former settings and migrate with --to and new ones, or copy the state with other tools and accept it:\n    yuba state migrate %s -n %s --accept",
			p.stack, was, from.config.StateLocation(), p.obj.Name, p.obj.Namespace)}
	}
	if why := localRefused(was, p); why != "" {
		return nil, &run.RefusedError{Message: fmt.Sprintf("migrate the state of %s: %s", p.stack, why)}
	}
	own, other, into := from, p, true
	if !p.obj.KeepsOwnState() {
		own, other, into = p, from, false
	}
	if err := r.mayMigrate(ctx, own); err != nil {
		return nil, err
	}
	spec, err := r.migrationSpec(ctx, own, other, req)
	if err != nil {
		return nil, err
	}
	there, err := json.Marshal(p.obj.BackendAt(p.config.StateLocation()))
	if err != nil {
		return nil, fmt.Errorf("describe the backend of %s: %w", p.stack, err)
	}
	m := spec.StateChange.Migration
	m.Into, m.From, m.To, m.Destination = into, was, p.config.StateLocation(), there
	rec.Spec, rec.State = spec, stateRefOf(own.obj)
	rec.State.Existing = into && rec.State.Existing
	if rec.Spec.ReviewInit, err = judgeOf(r).mayExecute(ctx, p); err != nil {
		return nil, err
	}
	rec.Policies = p.facts.Policy.Set
	rec.Place, err = placeOf(r.Rules, p.obj, spec.ID)
	return rec, err
}

// localRefused: a local backend keeps the only copy of a state in the stack's directory on one runner,
// where runs of other backends do not keep it, and in the very file where runs put a managed state.
func localRefused(was string, p *gathered) string {
	local := func(location string) bool { return location == "local" || strings.HasPrefix(location, "local ") }
	switch now := p.config.StateLocation(); {
	case local(now):
		return "a local backend keeps a state only in the stack's directory on one runner. Choose another backend"
	case local(was) && !p.obj.KeepsOwnState():
		return fmt.Sprintf("a state in a local backend cannot be copied to Yuba's store, because runs keep both in the same file. "+
			"Let the spec name the local backend again, read the state, and push it:\n    yuba shell %[1]s -n %[2]s -- tofu state pull >state.json\n"+
			"    (change the spec)\n    yuba state push %[1]s -n %[2]s state.json --force\n    yuba state migrate %[1]s -n %[2]s --accept", p.obj.Name, p.obj.Namespace)
	}
	return ""
}

// fresh is the pass for a variant of its object.
func (p *gathered) fresh(obj *infrav1.Terraform) *gathered {
	next := &gathered{held: p.held}
	next.obj = obj
	return next
}

// mayMigrate refuses a managed state that somebody else has locked.
func (r *Reconciler) mayMigrate(ctx context.Context, own *gathered) error {
	if own.obj.KeepsOwnState() {
		return nil
	}
	holder, err := r.States.HolderNow(ctx, stateKeyOf(own.obj))
	if err != nil {
		return err
	}
	if holder != nil {
		return &state.LockedError{Key: stateKeyOf(own.obj), Info: *holder, Action: "lock"}
	}
	return nil
}

// migrationSpec is the run in the first backend, which gets what the other needs besides.
func (r *Reconciler) migrationSpec(ctx context.Context, own, other *gathered, req run.Request) (run.Spec, error) {
	spec, err := runDraftsOf(r).spec(ctx, own)
	if err != nil {
		return spec, err
	}
	if spec.LockFile, err = r.Runs.LockFile(ctx, own.stack); err != nil {
		return spec, err
	}
	var there run.Spec
	other.config.Into(&there)
	change := *req.Change
	change.Migration = &run.Migration{Other: there.Backend}
	spec.Secrets = slices.Concat(spec.Secrets, there.Secrets)
	for _, e := range there.Env {
		if !slices.Contains(spec.Env, e) {
			change.Migration.Env = append(change.Migration.Env, e)
			if e.Secret {
				spec.Secrets = append(spec.Secrets, e.Value)
			}
		}
	}
	spec.Protocol, spec.ID, spec.Purpose = run.ProtocolVersion, run.NewID(own.now), run.PurposePerson
	spec.Operation, spec.StateChange = req.Operation, &change
	spec.Plan, spec.Unless, spec.Destroy, spec.Upgrade, spec.ForceUnlock = nil, "", false, false, ""
	spec.Describe, spec.Review, spec.PlanText, spec.ReadOutputs, spec.ReadResources = false, false, false, false, false
	return spec, nil
}
