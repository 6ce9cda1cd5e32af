// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	verdicts "github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/policy/judge"
	"github.com/yuba-dev/yuba/internal/runs/run"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
)

const (
	// trialBudget ends a part of a trial, well before a proxy between ends the request.
	trialBudget = 3 * time.Second
	// trialFindings limits the findings of one stack in a trial.
	trialFindings = 10
	// planSearch is how many runs of a stack are searched for its last stored plan.
	planSearch = 20
)

// policyRuns is the part of runs with which policies judge a plan again.
type policyRuns interface {
	Record(ctx context.Context, stack run.Stack, id string) (run.Record, error)
	List(ctx context.Context, stack run.Stack, limit int) ([]run.Record, error)
	ReadPart(ctx context.Context, stack run.Stack, id, part string) ([]byte, error)
}

// policyDesk answers what people ask about policies. It changes nothing.
type policyDesk struct {
	*policies
	runs   policyRuns
	stacks client.Reader
	// turn has room for one trial: each holds a plan and its facts in memory.
	turn chan struct{}
	// evaluator has processes of its own for what people ask; nil for those of the judge.
	evaluator *judge.Evaluator
}

// aside is the context of a question, which does not use what plans wait for.
func (d *policyDesk) aside(ctx context.Context) context.Context {
	if d.evaluator == nil {
		return ctx
	}
	return d.evaluator.Aside(ctx)
}

// noPlanError says that there is no plan to judge. It is for people.
type noPlanError struct{ message string }

func (e *noPlanError) Error() string { return e.message }

// storedPlan is a plan in the form that policies read.
type storedPlan struct {
	record   run.Record
	document []byte
	pending  bool
}

// storedPlanOf reads the plan of a run; without an id the pending plan, or the last one with changes
// that is stored.
func (d *policyDesk) storedPlanOf(ctx context.Context, obj *infrav1.Terraform, id string) (*storedPlan, error) {
	stack := run.StackOf(obj)
	if id != "" {
		rec, err := d.runs.Record(ctx, stack, id)
		if err != nil {
			return nil, err
		}
		return d.readPlan(ctx, obj, rec)
	}
	if pending := obj.Status.Plan.RunID; pending != "" && obj.Status.Plan.Pending != "" {
		rec, err := d.runs.Record(ctx, stack, pending)
		if err == nil {
			return d.readPlan(ctx, obj, rec)
		}
		if !errors.Is(err, run.ErrNotFound) {
			return nil, err
		}
	}
	records, err := d.runs.List(ctx, stack, planSearch)
	if err != nil {
		return nil, err
	}
	for _, rec := range records {
		if rec.Spec.Operation.ByHand() || rec.Spec.Speculative() || rec.Result == nil || rec.Spec.Plan == nil && (!rec.Spec.PlanDocument || rec.Result.Plan == nil || !rec.Result.Plan.Changes) {
			continue
		}
		plan, err := d.readPlan(ctx, obj, rec)
		var none *noPlanError
		if !errors.As(err, &none) {
			return plan, err
		}
	}
	return nil, &noPlanError{fmt.Sprintf("no plan of %s with changes is stored in the form that policies read. Yuba stores it for stacks that a policy selects, also in audit mode", stack)}
}

// readPlan reads the plan that a run made or applied.
func (d *policyDesk) readPlan(ctx context.Context, obj *infrav1.Terraform, rec run.Record) (*storedPlan, error) {
	stack := run.StackOf(obj)
	if rec.Spec.Plan != nil && rec.Spec.Plan.RunID != "" && rec.Spec.Plan.RunID != rec.Spec.ID {
		planned, err := d.runs.Record(ctx, stack, rec.Spec.Plan.RunID)
		if errors.Is(err, run.ErrNotFound) {
			return nil, &noPlanError{fmt.Sprintf("the plan that run %s of %s applied is no longer stored", rec.Spec.ID, stack)}
		}
		if err != nil {
			return nil, err
		}
		rec = planned
	}
	document, err := d.runs.ReadPart(ctx, stack, rec.Spec.ID, run.BlobPlanShow)
	if errors.Is(err, run.ErrNotFound) {
		return nil, &noPlanError{fmt.Sprintf("the plan of run %s of %s is not stored in the form that policies read: no policy selected the stack then, or the plan was too large, or it is too old", rec.Spec.ID, stack)}
	}
	if err != nil {
		return nil, fmt.Errorf("read the plan of run %s of %s: %w", rec.Spec.ID, stack, err)
	}
	return &storedPlan{rec, document, obj.Status.Plan.Pending != "" && obj.Status.Plan.RunID == rec.Spec.ID}, nil
}

// inputsOf are the inputs of the facts of a stored plan.
func (d *policyDesk) inputsOf(ctx context.Context, obj *infrav1.Terraform, p *storedPlan) (facts.Inputs, error) {
	in, err := d.inputs(ctx, obj, p.record, p.document)
	if err == nil && p.record.Result != nil && p.record.Result.Plan != nil {
		in.Digests.Plan = p.record.Result.Plan.Digest
	}
	return in, err
}

// Facts implements [content.Policies].
func (d *policyDesk) Facts(ctx context.Context, obj *infrav1.Terraform, id string) (any, error) {
	p, err := d.storedPlanOf(ctx, obj, id)
	var none *noPlanError
	if errors.As(err, &none) {
		return nil, content.NotFound(err)
	}
	if err != nil {
		return nil, err
	}
	in, err := d.inputsOf(ctx, obj, p)
	if err != nil {
		return nil, err
	}
	document, err := facts.Build(in)
	if err != nil {
		return nil, content.BadRequest(err)
	}
	return document, nil
}

// Verdict implements [content.Policies].
func (d *policyDesk) Verdict(ctx context.Context, obj *infrav1.Terraform, id string) (any, error) {
	binding, err := d.judge.Bind(ctx, subjectOf(obj))
	if err != nil {
		return nil, err
	}
	now := d.now()
	standing := judge.Standing{Namespace: obj.Namespace, Name: obj.Name, JudgedAt: now, ApprovePlan: obj.Spec.ApprovePlan, Policies: binding.Bounds()}
	p, err := d.storedPlanOf(ctx, obj, id)
	var none *noPlanError
	switch {
	case errors.As(err, &none):
		standing.NoPlan = err.Error()
		return standing, nil
	case err != nil:
		return nil, err
	}
	in, err := d.inputsOf(ctx, obj, p)
	if err != nil {
		return nil, err
	}
	owners, _ := d.ownersFor(ctx, binding, obj, p.record, p.document)
	limited, done, err := d.takeTurn(stacks.Patiently(d.aside(ctx)), binding.With(judge.People{Owners: owners}), subjectOf(obj))
	if err != nil {
		return nil, err
	}
	decision := limited.Plan(subjectOf(obj), string(obj.UID), in, now)
	if done(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	standing.Run, standing.Pending, standing.Decision, standing.Outcome = p.record.Spec.ID, p.pending, &decision, outcomeOf(obj, decision)
	return standing, nil
}

// Try implements [content.Policies].
func (d *policyDesk) Try(ctx context.Context, text []byte, namespace, after string) (content.PolicyTrial, error) {
	definition, err := judge.Define(text)
	if err == nil {
		var problems []error
		for _, problem := range definition.Problems() {
			problems = append(problems, errors.New(problem))
		}
		err = errors.Join(problems...)
	}
	if err == nil {
		if definition = definition.In(namespace); definition.Kind == yubav1.PolicyKind && definition.Namespace == "" {
			err = errors.New("a Policy is of a namespace: name it")
		}
	}
	if err == nil && definition.Namespace != namespace && definition.Namespace != "" {
		err = fmt.Errorf("the policy is of the namespace %s, so it cannot be tried on the stacks of %s", definition.Namespace, cmp.Or(namespace, "all namespaces"))
	}
	if err != nil {
		return content.PolicyTrial{}, content.BadRequest(err)
	}
	var list infrav1.TerraformList
	// Nothing below changes what it reads.
	if err := d.stacks.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return content.PolicyTrial{}, err
	}
	all := make([]*infrav1.Terraform, 0, len(list.Items))
	for i := range list.Items {
		if nameOf(&list.Items[i]) > after {
			all = append(all, &list.Items[i])
		}
	}
	slices.SortFunc(all, func(a, b *infrav1.Terraform) int { return cmp.Compare(nameOf(a), nameOf(b)) })
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return content.PolicyTrial{}, ctx.Err()
	}
	return d.try(ctx, d.judge.Try(definition), definition.String(), all)
}

// try judges the plans of stacks, until the time for one part is over.
func (d *policyDesk) try(ctx context.Context, trial *judge.Trial, policy string, all []*infrav1.Terraform) (answer content.PolicyTrial, err error) {
	begun := time.Now()
	for i, obj := range all {
		now, then, concerned, err := trial.Bind(ctx, subjectOf(obj))
		if err != nil {
			return answer, err
		}
		if !concerned {
			answer.Passed++
			continue
		}
		tried, err := d.tryOn(ctx, obj, now, then, policy)
		if err != nil {
			return answer, err
		}
		answer.Items = append(answer.Items, tried)
		if time.Since(begun) > trialBudget && i < len(all)-1 {
			answer.Continue = nameOf(obj)
			break
		}
	}
	return answer, nil
}

func (d *policyDesk) tryOn(ctx context.Context, obj *infrav1.Terraform, now, then *judge.Binding, policy string) (content.TriedStack, error) {
	tried := content.TriedStack{Namespace: obj.Namespace, Name: obj.Name, Effect: content.TrialUnknown}
	p, err := d.storedPlanOf(ctx, obj, "")
	var none *noPlanError
	if errors.As(err, &none) {
		tried.Message = err.Error()
		return tried, nil
	}
	if err != nil {
		return tried, err
	}
	in, err := d.inputsOf(ctx, obj, p)
	if err != nil {
		return tried, err
	}
	before, after := judge.Compare(d.aside(ctx), now, then, subjectOf(obj), string(obj.UID), in, d.now())
	if ctx.Err() != nil {
		return tried, ctx.Err()
	}
	tried.Run, tried.Pending, tried.Now, tried.Then, tried.Message = p.record.Spec.ID, p.pending, outcomeOf(obj, before), outcomeOf(obj, after), after.Message
	tried.Effect = content.TrialSame
	switch harder := severity[tried.Then] - severity[tried.Now]; {
	case harder > 0:
		tried.Effect = content.TrialStopped
	case harder < 0:
		tried.Effect = content.TrialFreed
	}
	tried.Unused = judge.Opinion(after) == judge.Freed && tried.Then == content.TrialWaits
	for _, v := range after.Violations {
		switch {
		case v.Policy != policy:
		case len(tried.Findings) == trialFindings:
			tried.Omitted++
		default:
			tried.Findings = append(tried.Findings, findingOf(v, string(v.Effect)))
		}
	}
	for _, e := range after.Exempted {
		if e.Policy == policy {
			tried.Exempted++
		}
	}
	return tried, nil
}

var severity = map[string]int{content.TrialApplies: 1, content.TrialWaits: 2, content.TrialRefused: 3}

// outcomeOf is what happens to a plan of the stack by a decision, before people approve it.
func outcomeOf(obj *infrav1.Terraform, d verdicts.Decision) string {
	free := obj.ByPolicy() || obj.AutoApproves() || obj.Spec.Force
	switch decision := judge.Opinion(d); {
	case obj.Spec.PlanOnly || obj.DriftOnly():
		return content.TrialNever
	case decision == judge.Refused:
		return content.TrialRefused
	case decision == judge.Freed && free:
		return content.TrialApplies
	case decision == judge.Passed && (obj.AutoApproves() || obj.Spec.Force):
		return content.TrialApplies
	}
	return content.TrialWaits
}

func nameOf(obj *infrav1.Terraform) string { return obj.Namespace + "/" + obj.Name }
