// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Contracts is the part of contracts that the controller uses. Nothing in it blocks for long.
type Contracts interface {
	// Consume finds out what a stack reads. variable finds a variable of its program; known is false
	// while the program cannot tell. planned are planned outputs of producers, by NAMESPACE/NAME, as
	// in output_changes of `tofu show -json`: they are read in place of the published ones.
	Consume(ctx context.Context, obj *infrav1.Terraform, variable func(name string) (v *module.Variable, known bool), planned map[string]map[string]json.RawMessage) (*Consumed, error)
	// Moved says what has changed since a run read the pins; empty for nothing.
	Moved(ctx context.Context, obj *infrav1.Terraform, pins []run.Pin) (string, error)
	// Set identifies the contracts and consumers by which the plans of a stack are judged; empty if it
	// publishes nothing.
	Set(ctx context.Context, obj *infrav1.Terraform) (string, error)
	// Judge checks planned outputs, by name, as in output_changes of `tofu show -json`.
	Judge(ctx context.Context, obj *infrav1.Terraform, changes map[string]json.RawMessage, destroy bool) ([]infrav1.ContractVerdict, error)
	// Publish publishes outputs that were applied. It is safe to repeat.
	Publish(ctx context.Context, obj *infrav1.Terraform, applied AppliedOutputs) (*PublishedOutputs, error)
	// Needed names the stacks that cannot run without what a stack published.
	Needed(ctx context.Context, obj *infrav1.Terraform) ([]string, error)
	// Forget removes what a deleted stack published.
	Forget(ctx context.Context, obj *infrav1.Terraform) error
}

// Consumed is what a stack reads of contracts.
type Consumed struct {
	Status []infrav1.ConsumedContract
	// Variables are the values, and Origins where they come from; none while the stack waits.
	Variables map[string]inputs.Variable
	Origins   map[string]string
	Pins      []run.Pin
	// Problem says why the stack cannot consume as it declares it, Waiting which producers are
	// missing, Moved what has changed since the pending plan, Changed since the last apply.
	Problem, Waiting, Moved, Changed string
	// WaitsFor are the producers that it waits for.
	WaitsFor string
	Warnings []string
	// Needs are the parts of planned outputs that are unknown until their stack is applied.
	Needs []speculative.Need
}

// AppliedOutputs are the outputs of a stack's last apply, as `tofu output -json` prints them.
type AppliedOutputs struct {
	Outputs map[string]json.RawMessage
	// ApprovedBy names the people whose approvals were recorded.
	Run, SourceRevision, ApprovedBy string
	// Approved is set if people approved the plan, by its name or by recorded approvals.
	Approved, Destroyed bool
	Now                 time.Time
}

// PublishedOutputs is what a stack publishes after an apply; New are new revisions.
type PublishedOutputs struct {
	Revisions, New []infrav1.PublishedRevision
	// Problem says what was not published, and why.
	Problem string
}

// contractBook connects stacks with contracts.
type contractBook struct {
	contracts Contracts
	runs      Runs
	outputs   outputsWriter
}

func contractsOf(r *Reconciler) contractBook {
	return contractBook{r.Contracts, r.Runs, outputsWriterOf(r)}
}

// publishes reports whether a stack publishes contracts, or has published some.
func publishes(obj *infrav1.Terraform) bool {
	return len(obj.Spec.Publishes) > 0 || obj.Status.Contracts != nil && len(obj.Status.Contracts.Published) > 0
}

// consume adds what the stack consumes to its inputs. A *reads.Problem is for the user to solve.
func (c contractBook) consume(ctx context.Context, p *gathered, prog *reads.Program, in *inputs.Inputs) error {
	if len(p.obj.Spec.Consumes)+len(p.obj.Spec.Publishes) > 0 && c.contracts == nil {
		return &reads.Problem{Reason: infrav1.ReasonFieldNotSupported, Message: "This API does not serve the kind Contract, so spec.publishes and spec.consumes have no effect. No runs start"}
	}
	if len(p.obj.Spec.Consumes) == 0 {
		p.consumed = &Consumed{}
		return nil
	}
	var err error
	if p.consumed, err = c.contracts.Consume(ctx, p.obj, prog.Variable, p.foreseen); err != nil {
		return fmt.Errorf("read the contracts that %s consumes: %w", p.stack, err)
	}
	if p.consumed.Problem != "" {
		return &reads.Problem{Reason: infrav1.ReasonContractMisfit, Message: p.consumed.Problem}
	}
	if p.consumed.Waiting != "" {
		return &waitingError{p.consumed.Waiting, p.consumed.WaitsFor}
	}
	if p.needs = p.consumed.Needs; len(p.needs) > 0 {
		return &reads.Problem{Reason: infrav1.ReasonWaiting, Message: (&speculative.UnknownError{Needs: p.needs}).Error()}
	}
	p.facts.Contracts.Moved, p.facts.Contracts.Changed = p.consumed.Moved, p.consumed.Changed
	in.Consume(p.consumed.Variables, p.consumed.Origins)
	return nil
}

// waitingError means that a contract is not published yet.
type waitingError struct{ message, producer string }

func (e *waitingError) Error() string { return e.message }

// gatherContracts finds out what the plans of a producer are judged by.
func (c contractBook) gatherContracts(ctx context.Context, p *gathered) error {
	if c.contracts == nil || !publishes(p.obj) {
		return nil
	}
	if !p.obj.DeletionTimestamp.IsZero() {
		needed, err := c.contracts.Needed(ctx, p.obj)
		p.facts.Dependants = append(p.facts.Dependants, needed...)
		slices.Sort(p.facts.Dependants)
		p.facts.Dependants = slices.Compact(p.facts.Dependants)
		return err
	}
	set, err := c.contracts.Set(ctx, p.obj)
	p.facts.Contracts.Bound, p.facts.Contracts.Set = true, set
	if err != nil {
		p.facts.Contracts.Problem = err.Error()
	}
	return nil
}

// contractFacts is nil unless contracts were asked about the very bytes of the pending plan.
func contractFacts(obj *infrav1.Terraform) *decide.ContractVerdict {
	c := obj.Status.Plan.Contracts
	if c == nil || c.Plan == "" || c.Plan != obj.Status.Plan.Digest {
		return nil
	}
	return &decide.ContractVerdict{Breaks: obj.BreaksContracts(), Message: brokenContracts(c), Set: c.Set, NeedsPlan: c.NeedsPlan}
}

// brokenContracts joins what the verdicts say about contracts that break.
func brokenContracts(c *infrav1.PlanContracts) string {
	text := ""
	for _, v := range c.Verdicts {
		if v.Outcome != infrav1.ContractBreaks {
			continue
		}
		if text != "" {
			text += "\n"
		}
		text += v.Message
	}
	return text
}

// askForContracts asks a run for what contracts are checked against.
func askForContracts(s *run.Spec, obj *infrav1.Terraform, contracts decide.Contracts) {
	if !contracts.Bound || s.Purpose == run.PurposeDelete || s.Operation == run.OperationApply {
		return
	}
	s.Describe = true
	for _, p := range obj.Spec.Publishes {
		if !slices.Contains(s.PlanOutputs, p.Value) {
			s.PlanOutputs = append(s.PlanOutputs, p.Value)
		}
	}
}

// judge checks the pending plan against contracts.
func (c contractBook) judge(ctx context.Context, p *acted) error {
	plan := &p.obj.Status.Plan
	rec, err := c.runs.Record(ctx, p.stack, plan.RunID)
	if err != nil && !errors.Is(err, run.ErrNotFound) {
		return fmt.Errorf("read the run that made plan %s of %s: %w", plan.Pending, p.stack, err)
	}
	verdict := &infrav1.PlanContracts{Set: p.facts.Contracts.Set, Plan: plan.Digest, JudgedAt: &metav1.Time{Time: p.now}}
	if plan.Contracts != nil {
		verdict.Pins = plan.Contracts.Pins
	}
	// Policies judge contracts, too.
	plan.Contracts, plan.Policy = verdict, nil
	for _, one := range p.obj.Spec.Publishes {
		verdict.NeedsPlan = verdict.NeedsPlan || !slices.Contains(rec.Spec.PlanOutputs, one.Value)
	}
	if verdict.NeedsPlan {
		return nil
	}
	changes := map[string]json.RawMessage{}
	if len(p.obj.Spec.Publishes) > 0 {
		document, err := c.runs.ReadPart(ctx, p.stack, plan.RunID, run.BlobPlanOutputs)
		if err != nil {
			return fmt.Errorf("read the planned outputs of plan %s of %s: %w", plan.Pending, p.stack, err)
		}
		if json.Unmarshal(document, &changes) != nil { // its error may quote a value
			return fmt.Errorf("read the planned outputs of plan %s of %s: they are not valid JSON", plan.Pending, p.stack)
		}
	}
	if verdict.Verdicts, err = c.contracts.Judge(ctx, p.obj, changes, plan.IsDestroyPlan); err != nil {
		return fmt.Errorf("check plan %s of %s against contracts: %w", plan.Pending, p.stack, err)
	}
	return nil
}

// objection says why contracts forbid an apply that is about to begin; empty if they do not. It asks
// once more: a consumer, or a revision, may have come since the decision.
func (c contractBook) objection(ctx context.Context, obj *infrav1.Terraform, rec run.Record) (string, error) {
	if c.contracts == nil || rec.Spec.Operation.ByHand() || rec.Spec.Purpose == run.PurposeDelete {
		return "", nil
	}
	if len(rec.Pins) > 0 {
		moved, err := c.contracts.Moved(ctx, obj, rec.Pins)
		if err != nil || moved != "" {
			return moved, err
		}
	}
	if !publishes(obj) {
		return "", nil
	}
	set, err := c.contracts.Set(ctx, obj)
	if err != nil {
		return "its contracts are not known: " + err.Error(), nil
	}
	v := contractFacts(obj)
	switch {
	case rec.Spec.Plan == nil:
		return "the stack publishes contracts since the run began", nil
	case v == nil || v.Set != set || v.NeedsPlan || rec.Spec.Plan.Digest != obj.Status.Plan.Digest:
		return "its contracts or their consumers have changed since the plan was checked", nil
	case v.Breaks && !namedPlan(obj, rec.Spec.Plan.ID):
		return "the plan breaks a contract, and its approval was withdrawn", nil
	}
	return "", nil
}

// namedPlan reports whether a person approved exactly this plan.
func namedPlan(obj *infrav1.Terraform, id string) bool {
	return id != "" && (obj.Spec.ApprovePlan == id || approvedByName(obj) == id)
}

// approvedLast reports whether people approved the last applied plan: by its name, or by approvals that
// the API recorded. The pending plan has lost both when its contracts are published.
func approvedLast(obj *infrav1.Terraform) bool {
	return namedPlan(obj, obj.Status.Plan.LastApplied) || obj.Status.Plan.LastApprovedBy != ""
}

// ensurePublished publishes what was applied, and checks it again when contracts have changed.
func (c contractBook) ensurePublished(ctx context.Context, p *acted) error {
	obj := p.obj
	if c.contracts == nil || !publishes(obj) || p.facts.Contracts.Problem != "" || p.facts.Stack.Deleting || !hasOutputs(obj) ||
		p.decision.Verb == decide.VerbAwaitRun || p.facts.StateProblem != "" || p.noState != nil {
		return nil
	}
	status := obj.Status.Contracts
	if status == nil {
		status = &infrav1.ContractsStatus{}
	}
	if status.Checked == checkedSum(obj, p.facts.Contracts.Set) {
		return nil
	}
	outputs, known, err := c.outputs.readOutputs(ctx, &p.pass)
	if err != nil || !known {
		return err // ensureOutputs reports what is lasting
	}
	if obj.Spec.Destroy && len(outputs) > 0 {
		return nil // it will be destroyed
	}
	applied := AppliedOutputs{Outputs: map[string]json.RawMessage{}, Run: obj.Status.LastAppliedRun, SourceRevision: revisionOfOutputs(obj),
		ApprovedBy: obj.Status.Plan.LastApprovedBy, Now: p.now, Approved: approvedLast(obj), Destroyed: obj.Spec.Destroy}
	for name, o := range outputs {
		value := json.RawMessage(o.Value)
		if o.IsString {
			if value, err = json.Marshal(string(o.Value)); err != nil {
				return fmt.Errorf("read output %s of %s: %w", name, p.stack, err)
			}
		}
		printed := struct {
			Sensitive bool            `json:"sensitive"`
			Type      json.RawMessage `json:"type"`
			Value     json.RawMessage `json:"value"`
		}{o.Sensitive, o.Type, value}
		if applied.Outputs[name], err = json.Marshal(printed); err != nil {
			return fmt.Errorf("read output %s of %s: it is not valid JSON", name, p.stack)
		}
	}
	result, err := c.contracts.Publish(ctx, obj, applied)
	if err != nil {
		return fmt.Errorf("publish the contracts of %s: %w", p.stack, err)
	}
	obj.Status.Contracts = status
	status.Published, status.Problem = result.Revisions, result.Problem
	set, err := c.contracts.Set(ctx, obj)
	if err != nil {
		return fmt.Errorf("publish the contracts of %s: %w", p.stack, err)
	}
	status.Checked = checkedSum(obj, set)
	for _, r := range result.New {
		p.notes = append(p.notes, note{reason: infrav1.ReasonContractPublished, action: "Publish",
			message: fmt.Sprintf("Published contract %s %s, revision %d", r.Contract, r.Version, r.Number)})
	}
	return nil
}

// checkedSum identifies outputs and contracts.
func checkedSum(obj *infrav1.Terraform, set string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "yuba contracts 1 %s %s %t", obj.Status.OutputsDigest, set, obj.Spec.Destroy))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// describeContracts writes to the status what the stack consumes, and why something was not
// published.
func describeContracts(p *acted) {
	obj := p.obj
	if p.consumed != nil && (len(p.consumed.Status) > 0 || obj.Status.Contracts != nil) {
		if obj.Status.Contracts == nil {
			obj.Status.Contracts = &infrav1.ContractsStatus{}
		}
		obj.Status.Contracts.Consumes = p.consumed.Status
	}
	c := obj.Status.Contracts
	if c != nil && len(c.Consumes)+len(c.Published) == 0 && c.Problem == "" && len(obj.Spec.Publishes) == 0 {
		obj.Status.Contracts, c = nil, nil
	}
	ready := conditions.Of(obj, infrav1.ConditionReady)
	switch {
	case c != nil && c.Problem != "" && (ready.Status == metav1.ConditionTrue || notPublished(obj)):
		setReady(obj, metav1.ConditionFalse, infrav1.ReasonContractBroken, c.Problem)
	case (c == nil || c.Problem == "") && notPublished(obj):
		setReady(obj, metav1.ConditionTrue, infrav1.ReasonOutputsAvailable, at(infrav1.MessageOutputsAvailable, revisionOfOutputs(obj)))
	}
}

// notPublished reports whether only a contract keeps the stack from being ready.
func notPublished(obj *infrav1.Terraform) bool {
	ready := conditions.Of(obj, infrav1.ConditionReady)
	return ready.Reason == infrav1.ReasonContractBroken && ready.Status == metav1.ConditionFalse
}

// pinned records the revisions that a plan used.
func pinned(obj *infrav1.Terraform, rec run.Record) {
	if obj.Status.Plan.Contracts = nil; len(rec.Pins) > 0 {
		obj.Status.Plan.Contracts = &infrav1.PlanContracts{Pins: pinsOf(rec)}
	}
}

func pinsOf(rec run.Record) []infrav1.ContractPin {
	var pins []infrav1.ContractPin
	for _, p := range rec.Pins {
		pins = append(pins, infrav1.ContractPin{As: p.As, Contract: p.Contract, From: p.From, Version: p.Version, Number: p.Number, Digest: p.Digest, Part: p.Part})
	}
	return pins
}

// read records what an apply, or a plan without changes, has read.
func read(obj *infrav1.Terraform, rec run.Record) {
	for _, pin := range pinsOf(rec) {
		if obj.Status.Contracts == nil {
			obj.Status.Contracts = &infrav1.ContractsStatus{}
		}
		list := &obj.Status.Contracts.Consumes
		i := slices.IndexFunc(*list, func(c infrav1.ConsumedContract) bool { return c.As == pin.As })
		if i < 0 {
			*list = append(*list, infrav1.ConsumedContract{As: pin.As, Contract: pin.Contract, From: pin.From})
			i = len(*list) - 1
		}
		(*list)[i].Read = &pin
	}
}
