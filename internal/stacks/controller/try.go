// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// TryMark separates the name of a stack from the rest of the name of its speculative runs. No stack
// can have such a name, so they share neither working directory nor records with it.
const TryMark = "+"

// DraftTry describes a speculative plan of a stack as it is configured now, with another version of
// one module. It takes no lock and is in no status. resolved are the versions of its other modules.
func (r *Reconciler) DraftTry(ctx context.Context, name types.NamespacedName, by string, replace run.Replacement, resolved map[string]string) (*run.Record, error) {
	var obj infrav1.Terraform
	if err := r.Reader.Get(ctx, name, &obj); err != nil {
		return nil, err
	}
	p := &gathered{held: held{collected: collected{pass: *r.pass(&obj)}}}
	if err := r.gatherConfiguration(ctx, p); err != nil {
		return nil, err
	}
	if p.config == nil {
		return nil, &run.RefusedError{Message: fmt.Sprintf("plan %s: %s", p.stack, cmp.Or(p.facts.Source.Problem, p.facts.Inputs.Problem))}
	}
	rec := &run.Record{Created: p.now.UTC(), Token: run.NewToken(), Generation: obj.Generation, By: by, Urgency: run.UrgencyDrift,
		Trigger: fmt.Sprintf("try %s %s", replace.Source, replace.Version), State: stateRefOf(&obj)}
	rec.State.Scope = scope.Of(obj.Labels)
	s, err := runDraftsOf(r).spec(ctx, p)
	if err != nil {
		return nil, err
	}
	s.Protocol, s.ID = run.ProtocolVersion, run.NewID(p.now)
	s.Stack.Name += TryMark + s.ID
	s.Stack.UID += TryMark + s.ID
	s.Origin = ""
	s.Operation, s.Purpose, s.Describe = run.OperationPlan, run.PurposeTry, true
	s.Replace, s.Resolved = &replace, resolved
	// Another version of a module is executed in the plan, too.
	if s.ReviewInit, err = judgeOf(r).mayExecute(ctx, p); err != nil {
		return nil, err
	}
	// Providers stay, too: the differences are those of the module. A lock in a custom backend would
	// stop the stack's own runs.
	s.Upgrade, s.NoPlanLock, s.ReadOutputs = false, true, false
	if s.LockFile, err = r.Runs.LockFile(ctx, p.stack); err != nil {
		return nil, err
	}
	rec.Spec = s
	rec.Place, err = placeOf(r.Rules, &obj, s.ID)
	return rec, err
}
