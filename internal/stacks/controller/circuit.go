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
	"github.com/yuba-dev/yuba/internal/outages/book"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

// Circuits is what the controller needs of the circuit breakers. No method waits.
type Circuits interface {
	// Observe takes in the end of a run, which may be told many times.
	Observe(book.Ended)
	// Any says whether there are any circuit breakers; without, Cover finds none.
	Any() bool
	// Knows says whether the stack's providers are known, Learn what they are.
	Knows(book.Stack) bool
	Learn(stack book.Stack, providers []string)
	// Cover says which circuit breaker concerns a stack that uses these providers; nil stands for those that are known.
	Cover(stack book.Stack, providers []string) (book.Cover, bool)
	// Decline says that the stack, which was to be probed, cannot be planned now.
	Decline(book.Stack)
	// Forget drops a stack that is gone; without a UID, whatever stacks had its name.
	Forget(book.Stack)
}

// gatherCircuit tells the circuit breakers how the stack's runs end, and finds out which of them concerns it.
func (o outages) gatherCircuit(ctx context.Context, p *gathered) error {
	if o.circuits == nil {
		return nil
	}
	// One that failed under an earlier server is told again: what is open is known, but not who failed.
	for _, rec := range []*run.Record{p.over, p.failing} {
		if rec != nil && rec.Result != nil && !rec.Spec.Operation.ByHand() {
			o.observe(p, *rec, rec == p.over)
		}
	}
	if !o.circuits.Any() {
		return nil
	}
	if !o.circuits.Knows(book.Stack(p.stack)) {
		// Since the server was started, no run of the stack has ended that could have told.
		lockFile, err := o.runs.LockFile(ctx, p.stack)
		if err != nil {
			return err
		}
		o.circuits.Learn(book.Stack(p.stack), withRequired(p, book.ProvidersIn(lockFile)))
	}
	cover, ok := o.circuits.Cover(book.Stack(p.stack), nil)
	if !ok {
		return nil
	}
	p.facts.Circuit = &decide.Circuit{Name: cover.Name, What: cover.What, Open: cover.Open, Failed: cover.Failed, Probe: cover.Probe,
		ResumeAt: cover.ResumeAt, ClosedAt: cover.ClosedAt}
	return nil
}

// observe tells of a run's end. One that was stopped or interrupted says nothing about the world; if it was a probe, another
// stack's turn has come.
func (o outages) observe(p *gathered, rec run.Record, justEnded bool) {
	outcome := rec.Result.Outcome
	switch {
	case (outcome == run.OutcomeSucceeded || outcome == run.OutcomeFailed) && !rec.Result.SameModules: // such a run asks no provider
		o.circuits.Observe(ended(p, rec))
	default:
		if justEnded {
			o.circuits.Decline(book.Stack(p.stack))
		}
	}
}

// ended is a run's end as the circuit breakers see it.
func ended(p *gathered, rec run.Record) book.Ended {
	result, status := rec.Result, &p.obj.Status
	concluded := status.ConfigDigest == rec.Config || rec.SettledConfig != "" && status.ConfigDigest == rec.SettledConfig
	e := book.Ended{Stack: book.Stack(p.stack), Run: rec.Spec.ID, At: result.Finished, Program: rec.Spec.Artifact.Digest,
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

// failureOf is what the world may be to blame for; nil when a run failed for a reason of its own.
func failureOf(result *run.Result) *book.Failure {
	if result.Class != "" && result.Class != run.FailureWorkspace {
		return nil
	}
	if d := result.Diagnosis; d != nil {
		return &book.Failure{Summary: d.Summary, Detail: d.Detail, Address: d.Address}
	}
	// What the tool itself did not say, or a runner of an earlier release does not tell apart.
	first, rest, _ := strings.Cut(strings.TrimPrefix(result.Error, "Error: "), "\n")
	return &book.Failure{Summary: first, Detail: rest}
}

// recordedProviders are those of the dependency lock file that a run left or was given.
func recordedProviders(rec run.Record) []string {
	if len(rec.Result.LockFile) > 0 {
		return book.ProvidersIn(rec.Result.LockFile)
	}
	return book.ProvidersIn(rec.Spec.LockFile)
}

// withRequired adds the providers that the root module names: a stack without a recorded lock file has no
// others. Nil stands for none known.
func withRequired(p *gathered, providers []string) []string {
	if p.config == nil {
		return providers
	}
	for _, source := range p.config.RequiredProviders() {
		providers = append(providers, book.ShortProvider(source))
	}
	slices.Sort(providers)
	return slices.Compact(providers)
}

// decline passes the probe on when the stack cannot be planned now.
func (o outages) decline(p *decided) {
	if c := p.facts.Circuit; c != nil && c.Probe && !p.decision.Verb.StartsRun() && p.facts.Current == nil {
		o.circuits.Decline(book.Stack(p.stack))
	}
}

// describeCircuit says that the stack is paused, once for the whole outage.
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

// outageObjection says why a run must not apply because of an outage that it may know nothing of; empty when it may.
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
	// Of a stack of which anything is known, what is known counts, as it does for decisions: were the two of different minds, a
	// run that may not apply would be followed by one that may not either, and so on.
	stack, providers := book.Stack(rec.Spec.Stack), []string(nil)
	if !o.circuits.Knows(stack) {
		providers = nonEmpty(book.ProvidersIn(rec.Spec.LockFile))
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

// nonEmpty is nil for no providers, which is what stands for not known.
func nonEmpty(providers []string) []string {
	if len(providers) == 0 {
		return nil
	}
	return providers
}

// approvedByName is the plan that a person approved of a stack that applies its plans by itself.
func approvedByName(obj *infrav1.Terraform) string {
	if !obj.AutoApproves() && !obj.Spec.Force {
		return ""
	}
	return obj.Annotations[infrav1.AnnotationApproved]
}
