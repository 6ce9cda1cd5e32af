// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	contracts "github.com/yuba-dev/yuba/internal/contracts/controller"
	"github.com/yuba-dev/yuba/internal/contracts/revisions"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// contractBook connects the stack controller with contracts: programs and runs in, values out.
type contractBook struct{ *contracts.Book }

// addContracts adds contracts. Call it before adding the stack controller.
func (e *engine) addContracts(ctx context.Context, r *stacks.Reconciler) error {
	served, err := serves(e.manager.GetRESTMapper(), yubav1.GroupVersion.WithKind(yubav1.ContractKind))
	if err != nil {
		return err
	}
	if !served {
		e.opts.Log.Warn("this API does not serve the kind " + yubav1.ContractKind + ", so stacks cannot publish or consume contracts. " + installMissing)
		return nil
	}
	if err := contracts.AddIndexes(ctx, e.manager.GetFieldIndexer()); err != nil {
		return err
	}
	book := &contracts.Book{Cache: e.manager.GetCache(), Store: &revisions.Store{Blobs: e.blobs}}
	keeper := &contracts.Keeper{Book: book, Client: e.manager.GetClient(), Wake: e.wakeByName, Events: e.events, Now: time.Now, Log: e.opts.Log}
	if err := keeper.SetupWithManager(e.manager); err != nil {
		return err
	}
	r.Contracts, e.tries.judges = contractBook{book}, book
	e.registry.contracts.book.Store(book)
	return nil
}

// Consume implements [stacks.Contracts].
func (c contractBook) Consume(ctx context.Context, obj *infrav1.Terraform, variable func(string) (*module.Variable, bool), planned map[string]map[string]json.RawMessage) (*stacks.Consumed, error) {
	found, err := c.Book.ConsumePlanned(ctx, obj, func(name string) (v shape.Variable, declared, known bool) {
		d, known := variable(name)
		if d == nil {
			return v, false, known
		}
		return shape.Variable{Type: shape.Of(d.Type, d.Defaults), Nullable: d.Nullable, HasDefault: d.HasDefault, Secret: d.Sensitive || d.Ephemeral}, true, known
	}, planned)
	if err != nil {
		return nil, err
	}
	out := &stacks.Consumed{Status: found.Status, Problem: found.Problem, Waiting: found.Waiting, WaitsFor: found.WaitsFor, Moved: found.Moved,
		Changed: found.Changed, Warnings: found.Warnings, Variables: map[string]inputs.Variable{}, Origins: map[string]string{}, Pins: runPins(found.Pins)}
	for name, v := range found.Values {
		out.Variables[name] = inputs.Variable{JSON: v.JSON, Secret: v.Private}
		out.Origins[name] = v.Origin
	}
	for _, u := range found.Unknown {
		out.Needs = append(out.Needs, speculative.Need{Stack: u.From, Input: "contract " + u.Contract + ": " + u.Path})
	}
	return out, nil
}

func runPins(pins []infrav1.ContractPin) []run.Pin {
	var out []run.Pin
	for _, p := range pins {
		out = append(out, run.Pin{As: p.As, Contract: p.Contract, From: p.From, Version: p.Version, Number: p.Number, Digest: p.Digest, Part: p.Part})
	}
	return out
}

// Moved implements [stacks.Contracts].
func (c contractBook) Moved(ctx context.Context, obj *infrav1.Terraform, pins []run.Pin) (string, error) {
	parts := map[string]string{}
	for _, p := range pins {
		parts[p.As] = p.Part
	}
	return c.Book.Moved(ctx, obj, parts)
}

// Judge implements [stacks.Contracts].
func (c contractBook) Judge(ctx context.Context, obj *infrav1.Terraform, changes map[string]json.RawMessage, destroy bool) ([]infrav1.ContractVerdict, error) {
	return c.Book.Judge(ctx, obj, changes, destroy)
}

// Publish implements [stacks.Contracts].
func (c contractBook) Publish(ctx context.Context, obj *infrav1.Terraform, a stacks.AppliedOutputs) (*stacks.PublishedOutputs, error) {
	done, err := c.Book.Publish(ctx, obj, contracts.Applied{Outputs: a.Outputs, Run: a.Run, SourceRevision: a.SourceRevision,
		ApprovedBy: a.ApprovedBy, Approved: a.Approved, Destroyed: a.Destroyed, Now: a.Now})
	if err != nil {
		return nil, err
	}
	return &stacks.PublishedOutputs{Revisions: done.Revisions, New: done.New, Problem: done.Problem}, nil
}

// Forget implements [stacks.Contracts].
func (c contractBook) Forget(ctx context.Context, obj *infrav1.Terraform) error {
	return c.Store.Forget(ctx, string(obj.Salt()))
}

// contractFacts are the verdicts about the pending plan's contracts, for policies.
func contractFacts(obj *infrav1.Terraform) []facts.Contract {
	c := obj.Status.Plan.Contracts
	if c == nil || c.Plan != obj.Status.Plan.Digest {
		return nil
	}
	var all []facts.Contract
	for _, v := range c.Verdicts {
		one := facts.Contract{Name: v.Contract, Version: strings.Join(v.Versions, ", "), Verdict: contractVerdicts[v.Outcome], Message: v.Message}
		for _, h := range v.Broken {
			namespace, name, _ := strings.Cut(h.Consumer, "/")
			one.Breaks = append(one.Breaks, facts.BrokenConsumer{Namespace: namespace, Name: name, Path: h.Path})
		}
		if one.Verdict == "" {
			one.Verdict = fmt.Sprintf("%q", v.Outcome)
		}
		all = append(all, one)
	}
	return all
}

// pinnedRevisions are the parts that a run read of contracts, by variable.
func pinnedRevisions(rec run.Record) map[string]string {
	if len(rec.Pins) == 0 {
		return nil
	}
	parts := map[string]string{}
	for _, p := range rec.Pins {
		parts[p.As] = p.Part
	}
	return parts
}

var contractVerdicts = map[infrav1.ContractOutcome]string{infrav1.ContractFits: facts.ContractFits,
	infrav1.ContractBreaks: facts.ContractBreaks, infrav1.ContractUnknown: facts.ContractUnknown}
