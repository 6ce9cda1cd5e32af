// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/outages/circuits"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

// breakers are circuit breakers with results set by the test.
type breakers struct {
	cover    circuits.Cover
	observed []circuits.Ended
	declined int
	// unknown is true if no stack is known; asked are the providers passed to Cover.
	unknown   bool
	asked     [][]string
	forgotten []circuits.Stack
}

func (c *breakers) Observe(e circuits.Ended)       { c.observed = append(c.observed, e) }
func (c *breakers) Any() bool                      { return c.cover.Name != "" }
func (c *breakers) Knows(circuits.Stack) bool      { return !c.unknown }
func (c *breakers) Learn(circuits.Stack, []string) {}
func (c *breakers) Decline(circuits.Stack)         { c.declined++ }
func (c *breakers) Forget(s circuits.Stack)        { c.forgotten = append(c.forgotten, s) }
func (c *breakers) Cover(_ circuits.Stack, providers []string) (circuits.Cover, bool) {
	c.asked = append(c.asked, providers)
	return c.cover, c.cover.Name != ""
}

func autoApproved(t *infrav1.Terraform) { t.Spec.ApprovePlan = infrav1.ApprovePlanAuto }

func TestReportsToCircuitBreakers(t *testing.T) {
	diagnosed := run.Result{Outcome: run.OutcomeFailed, Error: "Error: reading VPC\n\nno such host",
		Diagnosis: &run.Diagnosis{Summary: "reading VPC", Detail: "no such host", Address: "aws_vpc.a"}}
	for sentence, test := range map[string]struct {
		result    run.Result
		succeeded bool
		failure   *circuits.Failure
	}{
		"a success":                 {run.Result{Outcome: run.OutcomeSucceeded}, true, nil},
		"a failure of the provider": {diagnosed, false, &circuits.Failure{Summary: "reading VPC", Detail: "no such host", Address: "aws_vpc.a"}},
		"a failure that the tool did not explain": {run.Result{Outcome: run.OutcomeFailed, Error: "fetch the provider: no such host\nsee there"}, false,
			&circuits.Failure{Summary: "fetch the provider: no such host", Detail: "see there"}},
		"a mistake in the configuration": {run.Result{Outcome: run.OutcomeFailed, Class: run.FailureConfiguration, Diagnosis: diagnosed.Diagnosis}, false, nil},
		"a lock":                         {run.Result{Outcome: run.OutcomeFailed, Class: run.FailureLocked, Diagnosis: diagnosed.Diagnosis}, false, nil},
		"a refusal":                      {run.Result{Outcome: run.OutcomeFailed, Class: run.FailureRefused}, false, nil},
		"a limit":                        {run.Result{Outcome: run.OutcomeFailed, Class: run.FailureLimit}, false, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := &breakers{}
			p := passOver(stackObject())
			p.stack = run.Stack{Namespace: "team", Name: "vpc", UID: "uid-1"}
			rec := ran(run.OperationPlan, test.result).rec
			p.over = &rec
			if err := outagesOf(&Reconciler{Circuits: c}).gatherCircuit(t.Context(), &p.gathered); err != nil {
				t.Fatal(err)
			}
			want := []circuits.Ended{{Stack: circuits.Stack(p.stack), Run: "r1", At: finished, Program: "sha256:a", Succeeded: test.succeeded, Failure: test.failure}}
			if diff := cmp.Diff(want, c.observed); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// after is a pass that took over a run.
func after(rec *run.Record) *gathered {
	p := passOver(stackObject())
	p.over = rec
	return &p.gathered
}

func TestRunsWithoutEvidenceOfOutages(t *testing.T) {
	for _, outcome := range []run.Outcome{run.OutcomeCanceled, run.OutcomeInterrupted} {
		c := &breakers{}
		rec := ran(run.OperationPlan, run.Result{Outcome: outcome}).rec
		if err := outagesOf(&Reconciler{Circuits: c}).gatherCircuit(t.Context(), after(&rec)); err != nil || len(c.observed) != 0 || c.declined != 1 {
			t.Errorf("%s: %v, %d observed, %d declined", outcome, err, len(c.observed), c.declined)
		}
	}
	c := &breakers{}
	rec := ran(run.OperationState, run.Result{Outcome: run.OutcomeFailed, Error: "no"}).rec
	if err := outagesOf(&Reconciler{Circuits: c}).gatherCircuit(t.Context(), after(&rec)); err != nil || len(c.observed) != 0 {
		t.Errorf("manual operation: %v, %d observed", err, len(c.observed))
	}
}

// A failure of something that worked may be an outage; otherwise it may be the program's.
func TestProvenConfigurations(t *testing.T) {
	succeededOnce := metav1.NewTime(finished.Add(-time.Hour))
	for sentence, test := range map[string]struct {
		change func(*infrav1.Terraform)
		want   bool
	}{
		"this configuration succeeded before": {func(t *infrav1.Terraform) {
			t.Status.ConfigDigest, t.Status.LastSuccessfulReconcileAt = "sha256:c", &succeededOnce
		}, true},
		"another configuration succeeded before": {func(t *infrav1.Terraform) {
			t.Status.ConfigDigest, t.Status.LastSuccessfulReconcileAt = "sha256:d", &succeededOnce
		}, false},
		"nothing succeeded before": {func(t *infrav1.Terraform) { t.Status.ConfigDigest = "sha256:c" }, false},
		"this configuration was planned, but not applied": {func(t *infrav1.Terraform) {
			planPending(t)
			t.Status.ConfigDigest, t.Status.LastSuccessfulReconcileAt = "sha256:c", &succeededOnce
		}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			rec := ran(run.OperationPlan, run.Result{Outcome: run.OutcomeFailed, Error: "x"}).rec
			if got := ended(&passOver(stackObject(test.change)).gathered, rec).Proven; got != test.want {
				t.Errorf("proven is %v, want %v", got, test.want)
			}
		})
	}
}

// A stack reports once that it is paused, and once that it is not.
func TestPausedIsReportedOnce(t *testing.T) {
	p := passOver(stackObject())
	p.facts = decide.Facts{Circuit: &decide.Circuit{Name: "aws-down", What: "provider aws is unavailable", Open: true, Failed: true}}
	p.decision = decide.Decision{Verb: decide.VerbWait, Reason: decide.ReasonCircuitOpen}
	describeCircuit(&p.decided)
	first := conditions.Of(p.obj, infrav1.ConditionPaused)
	if first.Status != metav1.ConditionTrue || first.Reason != infrav1.ReasonCircuitOpen || !strings.Contains(first.Message, "aws-down: provider aws is unavailable") {
		t.Errorf("%+v", first)
	}
	p.facts.Circuit.What = "provider aws rejects more requests"
	describeCircuit(&p.decided)
	p.facts.Circuit.Open = false
	describeCircuit(&p.decided)
	if diff := cmp.Diff(first, conditions.Of(p.obj, infrav1.ConditionPaused)); diff != "" {
		t.Errorf("it was reported again (-first +then):\n%s", diff)
	}
	p.decision = decide.Decision{Verb: decide.VerbPlan, Reason: decide.ReasonCircuitClosed}
	describeCircuit(&p.decided)
	if c := conditions.Of(p.obj, infrav1.ConditionPaused); c.Type != "" {
		t.Errorf("it is still there: %+v", c)
	}
}

func TestImpossibleProbesAreDeclined(t *testing.T) {
	for sentence, test := range map[string]struct {
		verb    decide.Verb
		current *decide.Run
		want    int
	}{
		"it is planned":                {decide.VerbPlan, nil, 0},
		"a run is in progress":         {decide.VerbAwaitRun, &decide.Run{}, 0},
		"it waits, such as for a lock": {decide.VerbWait, nil, 1},
		"it is suspended":              {decide.VerbRest, nil, 1},
		"its source is missing":        {decide.VerbFail, nil, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := &breakers{}
			p := &decided{decision: decide.Decision{Verb: test.verb}}
			p.facts = decide.Facts{Current: test.current, Circuit: &decide.Circuit{Open: true, Failed: true, Probe: true}}
			outagesOf(&Reconciler{Circuits: c}).decline(p)
			if c.declined != test.want {
				t.Errorf("declined %d times, want %d", c.declined, test.want)
			}
		})
	}
}

// A run that started before the outage must ask before it applies.
func TestPermitInAnOutage(t *testing.T) {
	open := circuits.Cover{Name: "aws-down", Open: true, What: "provider aws is unavailable"}
	closed := circuits.Cover{Name: "aws-down", ClosedAt: finished}
	heldDrift := func(t *infrav1.Terraform) {
		planPending(t)
		t.Status.Plan.HeldBy, t.Status.Plan.IsDriftDetectionPlan = "aws-down", true
	}
	allowed := func(t *infrav1.Terraform) { t.Annotations = map[string]string{infrav1.AnnotationApproved: planID} }
	for sentence, test := range map[string]struct {
		cover circuits.Cover
		obj   []func(*infrav1.Terraform)
		op    run.Operation
		rec   func(*run.Record)
		want  string
	}{
		"no outage":                                {circuits.Cover{}, nil, run.OperationPlanAndApply, nil, ""},
		"an outage":                                {open, nil, run.OperationPlanAndApply, nil, "circuit breaker aws-down is open: provider aws is unavailable"},
		"a plan without approval":                  {open, []func(*infrav1.Terraform){planPending}, run.OperationApply, nil, "circuit breaker aws-down is open: provider aws is unavailable"},
		"a plan that a person approved":            {open, []func(*infrav1.Terraform){planPending, allowed}, run.OperationApply, nil, ""},
		"a plan that approvePlan names":            {open, []func(*infrav1.Terraform){planPending, func(t *infrav1.Terraform) { t.Spec.ApprovePlan = planID }}, run.OperationApply, nil, ""},
		"a deletion":                               {open, nil, run.OperationPlanAndApply, func(r *run.Record) { r.Spec.Purpose = run.PurposeDelete }, ""},
		"manual work":                              {open, nil, run.OperationState, nil, ""},
		"drift found before the end of the outage": {closed, nil, run.OperationPlanAndApply, func(r *run.Record) { r.Spec.Purpose = run.PurposeDrift }, "drift is checked again after the outage of circuit breaker aws-down"},
		"a deployment after the outage":            {closed, nil, run.OperationPlanAndApply, nil, ""},
		"a new plan while another is held":         {circuits.Cover{}, []func(*infrav1.Terraform){heldDrift}, run.OperationPlanAndApply, nil, "plan " + planID + " is held for approval by circuit breaker aws-down"},
		"a held plan that a person approved":       {circuits.Cover{}, []func(*infrav1.Terraform){heldDrift, allowed}, run.OperationApply, nil, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			rec := ran(test.op, run.Result{}).rec
			if test.rec != nil {
				test.rec(&rec)
			}
			obj := stackObject(append([]func(*infrav1.Terraform){autoApproved}, test.obj...)...)
			if got := outagesOf(&Reconciler{Circuits: &breakers{cover: test.cover}}).outageObjection(obj, rec); got != test.want {
				t.Errorf("objection %q, want %q", got, test.want)
			}
		})
	}
}

// Permits must use the same facts as decisions, or a stack is planned and refused repeatedly.
func TestPermitUsesTheFactsOfDecisions(t *testing.T) {
	rec := ran(run.OperationPlanAndApply, run.Result{}, func(r *run.Record) {
		r.Spec.LockFile = []byte("provider \"registry.opentofu.org/hashicorp/aws\" {\n}\n")
	}).rec
	for unknown, want := range map[bool][]string{false: nil, true: {"hashicorp/aws"}} {
		c := &breakers{unknown: unknown}
		outagesOf(&Reconciler{Circuits: c}).outageObjection(stackObject(autoApproved), rec)
		if diff := cmp.Diff([][]string{want}, c.asked); diff != "" {
			t.Errorf("unknown is %v (-want +got):\n%s", unknown, diff)
		}
	}
}

// nothing is a cache and an API without objects.
type nothing struct{ client.Reader }

func (nothing) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "terraforms"}, key.Name)
}

// A stack whose finalizer was removed manually is deleted without a message.
func TestDeletedStacksLeaveCircuits(t *testing.T) {
	c := &breakers{}
	r := &Reconciler{Circuits: c, Stacks: fresh.New(nothing{}, nothing{}), Now: time.Now}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "team", Name: "vpc"}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]circuits.Stack{{Namespace: "team", Name: "vpc"}}, c.forgotten); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A held plan says so until it is applied or has no changes.
func TestHeldPlanInTheStatus(t *testing.T) {
	obj := stackObject(autoApproved)
	plan := &run.PlanResult{Changes: true, ChangesDigest: "changes-1", Digest: "sha256:p"}
	record(obj, ran(run.OperationPlan, run.Result{Outcome: run.OutcomeSucceeded, Plan: plan}, func(r *run.Record) {
		r.Spec.Purpose, r.HeldBy = run.PurposeDrift, "aws-down"
	}))
	ready := conditions.Of(obj, infrav1.ConditionReady)
	if obj.Status.Plan.HeldBy != "aws-down" || ready.Reason != infrav1.ReasonDriftDetected || !strings.Contains(ready.Message, "yuba approve vpc -n team") {
		t.Errorf("%+v %+v", obj.Status.Plan, ready)
	}
	if p := pendingFacts(obj); p.HeldBy != "aws-down" || !p.Drift {
		t.Errorf("%+v", p)
	}
	record(obj, ran(run.OperationPlan, run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{}}))
	if obj.Status.Plan.HeldBy != "" {
		t.Error("nothing is pending, and it is held")
	}
}

// A temporary problem leaves its message; a paused stack reports its failure again.
func TestPausedStacksKeepTheirFailure(t *testing.T) {
	obj := stackObject(func(t *infrav1.Terraform) {
		setReady(t, metav1.ConditionFalse, infrav1.ReasonLockHeld, "somebody held the lock")
	})
	p := passOver(obj)
	p.failing = &run.Record{Result: &run.Result{Outcome: run.OutcomeFailed, FailedStep: run.StepPlan, Error: "no such host"}}
	p.describeAs(decide.Decision{Verb: decide.VerbWait, Reason: decide.ReasonCircuitOpen, Message: "paused"})
	if c := conditions.Of(obj, infrav1.ConditionReady); c.Reason != infrav1.ReasonPlanFailed || c.Message != "no such host" {
		t.Errorf("%+v", c)
	}
}
