// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/outages/circuits"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

// Circuits is the part of the circuit breakers that the controller uses. No method blocks.
type Circuits interface {
	// Observe records the end of a run. Repeated calls have no effect.
	Observe(circuits.Ended)
	// Any reports whether there are circuit breakers; if not, Cover finds none.
	Any() bool
	// Knows reports whether the stack's providers are known, Learn sets them.
	Knows(circuits.Stack) bool
	Learn(stack circuits.Stack, providers []string)
	// Cover finds the circuit breaker for a stack with these providers; nil for the known ones.
	Cover(stack circuits.Stack, providers []string) (circuits.Cover, bool)
	// Decline records that the stack to probe cannot be planned now.
	Decline(circuits.Stack)
	// Forget drops a deleted stack; without a UID, all stacks of its name.
	Forget(circuits.Stack)
}

// gatherCircuit reports ended runs of the stack, and finds its circuit breaker.
func (o outages) gatherCircuit(ctx context.Context, p *gathered) error {
	if o.circuits == nil {
		return nil
	}
	// Report a failure under an earlier server again: its provider is not stored.
	for _, rec := range []*run.Record{p.over, p.failing} {
		if rec != nil && rec.Result != nil && !rec.Spec.Operation.ByHand() {
			o.observe(p, *rec, rec == p.over)
		}
	}
	if !o.circuits.Any() {
		return nil
	}
	if !o.circuits.Knows(circuits.Stack(p.stack)) {
		// No run of the stack has ended since the server started.
		lockFile, err := o.runs.LockFile(ctx, p.stack)
		if err != nil {
			return err
		}
		o.circuits.Learn(circuits.Stack(p.stack), withRequired(p, circuits.ProvidersIn(lockFile)))
	}
	cover, ok := o.circuits.Cover(circuits.Stack(p.stack), nil)
	if !ok {
		return nil
	}
	p.facts.Circuit = &decide.Circuit{Name: cover.Name, What: cover.What, Open: cover.Open, Failed: cover.Failed, Probe: cover.Probe,
		ResumeAt: cover.ResumeAt, ClosedAt: cover.ClosedAt}
	return nil
}

// observe reports a run's end. A stopped or interrupted run says nothing about the provider; if it
// was a probe, another stack is next.
func (o outages) observe(p *gathered, rec run.Record, justEnded bool) {
	outcome := rec.Result.Outcome
	switch {
	case (outcome == run.OutcomeSucceeded || outcome == run.OutcomeFailed) && !rec.Result.SameModules: // such a run used no provider
		o.circuits.Observe(ended(p, rec))
	default:
		if justEnded {
			o.circuits.Decline(circuits.Stack(p.stack))
		}
	}
}

// ended describes an ended run for the circuit breakers.
func ended(p *gathered, rec run.Record) circuits.Ended {
	result, status := rec.Result, &p.obj.Status
	concluded := status.ConfigDigest == rec.Config || rec.SettledConfig != "" && status.ConfigDigest == rec.SettledConfig
	e := circuits.Ended{Stack: circuits.Stack(p.stack), Run: rec.Spec.ID, At: result.Finished, Program: rec.Spec.Artifact.Digest,
		Providers: withRequired(p, recordedProviders(rec)), Succeeded: result.Outcome == run.OutcomeSucceeded,
		Proven: status.Plan.Pending == "" && status.LastSuccessfulReconcileAt != nil && (concluded || p.facts.Stack.PlannedConfig == rec.Config)}
	for _, s := range result.Steps {
		e.Cost += time.Duration(s.Wall)
	}
	if !e.Succeeded {
		e.Failure = failureOf(result)
	}
	return e
}

// failureOf returns a failure that an outage may have caused; nil for other reasons.
func failureOf(result *run.Result) *circuits.Failure {
	if result.Class != "" && result.Class != run.FailureWorkspace {
		return nil
	}
	if d := result.Diagnosis; d != nil {
		return &circuits.Failure{Summary: d.Summary, Detail: d.Detail, Address: d.Address}
	}
	// The tool reported no reason, or an older runner does not separate it.
	first, rest, _ := strings.Cut(strings.TrimPrefix(result.Error, "Error: "), "\n")
	return &circuits.Failure{Summary: first, Detail: rest}
}

// recordedProviders lists the providers in the lock file that a run wrote or got.
func recordedProviders(rec run.Record) []string {
	if len(rec.Result.LockFile) > 0 {
		return circuits.ProvidersIn(rec.Result.LockFile)
	}
	return circuits.ProvidersIn(rec.Spec.LockFile)
}

// withRequired adds the root module's required providers: without a recorded lock file no others
// are known. Nil means that none are known.
func withRequired(p *gathered, providers []string) []string {
	if p.config == nil {
		return providers
	}
	for _, source := range p.config.RequiredProviders() {
		providers = append(providers, circuits.ShortProvider(source))
	}
	slices.Sort(providers)
	return slices.Compact(providers)
}

// decline passes the probe on if the stack cannot be planned now.
func (o outages) decline(p *decided) {
	if c := p.facts.Circuit; c != nil && c.Probe && !p.decision.Verb.StartsRun() && p.facts.Current == nil {
		o.circuits.Decline(circuits.Stack(p.stack))
	}
}

// describeCircuit reports once for the whole outage that the stack is paused.
func describeCircuit(p *decided) {
	c := p.facts.Circuit
	paused := c != nil && c.Failed && (c.Open || p.decision.Reason == decide.ReasonCircuitOpen)
	if !paused || !p.obj.DeletionTimestamp.IsZero() {
		conditions.Remove(p.obj, infrav1.ConditionPaused)
		return
	}
	if now := conditions.Of(p.obj, infrav1.ConditionPaused); now.Status == metav1.ConditionTrue && strings.HasPrefix(now.Message, decide.CircuitPrefix(c.Name)) {
		return
	}
	setCondition(p.obj, infrav1.ConditionPaused, metav1.ConditionTrue, infrav1.ReasonCircuitOpen, decide.CircuitMessage(c.Name, c.What, p.facts.Stack.Call))
}

// outageObjection says why an outage forbids an apply; empty if none does.
func (o outages) outageObjection(obj *infrav1.Terraform, rec run.Record) string {
	if o.circuits == nil || rec.Spec.Operation.ByHand() || rec.Spec.Purpose == run.PurposeDelete {
		return ""
	}
	if rec.Spec.Plan != nil && (obj.Spec.ApprovePlan == rec.Spec.Plan.ID || approvedByName(obj) == rec.Spec.Plan.ID) {
		return ""
	}
	if p := &obj.Status.Plan; p.HeldBy != "" && p.IsDriftDetectionPlan {
		return "plan " + p.Pending + " is held for approval by circuit breaker " + p.HeldBy
	}
	// Use known providers, as decisions do. If both disagreed, forbidden runs would repeat.
	stack, providers := circuits.Stack(rec.Spec.Stack), []string(nil)
	if !o.circuits.Knows(stack) {
		providers = nonEmpty(circuits.ProvidersIn(rec.Spec.LockFile))
	}
	cover, ok := o.circuits.Cover(stack, providers)
	switch {
	case !ok:
		return ""
	case cover.Open:
		return "circuit breaker " + cover.Name + " is open: " + cover.What
	case rec.Spec.Purpose == run.PurposeDrift && rec.Created.Before(cover.ClosedAt):
		return "drift is checked again after the outage of circuit breaker " + cover.Name
	}
	return ""
}

// nonEmpty replaces an empty list by nil, which means unknown.
func nonEmpty(providers []string) []string {
	if len(providers) == 0 {
		return nil
	}
	return providers
}

// approvedByName returns the plan that a person approved although the stack applies automatically,
// or that the people approved whom policies ask for.
func approvedByName(obj *infrav1.Terraform) string {
	if obj.ApprovedByPeople() {
		return obj.Status.Plan.Pending
	}
	if !obj.AppliesByItself() && !obj.Spec.Force {
		return ""
	}
	return obj.Annotations[infrav1.AnnotationApproved]
}
