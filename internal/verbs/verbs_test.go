// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func TestApprovable(t *testing.T) {
	mode := func(mode string) func(*infrav1.Terraform) {
		return func(t *infrav1.Terraform) { t.Spec.ApprovePlan = mode }
	}
	for sentence, c := range map[string]struct {
		stack *infrav1.Terraform
		id    string
		want  string // the refusal; empty if it can be approved
		next  string
		gone  bool
	}{
		"the plan waits":           {stackThat(pending("p1")), "p1", "", "", false},
		"whichever plan waits":     {stackThat(pending("p1")), "", "", "", false},
		"no plan waits":            {stackThat(), "", "no plan waits for approval", "status", true},
		"another plan waits":       {stackThat(pending("p2")), "p1", "plan p1 is not pending; the pending plan is p2", "plan", true},
		"the stack is suspended":   {stackThat(pending("p1"), func(t *infrav1.Terraform) { t.Spec.Suspend = true }), "", "the stack is suspended", "resume", false},
		"the stack only plans":     {stackThat(pending("p1"), func(t *infrav1.Terraform) { t.Spec.PlanOnly = true }), "", "the stack only allows plans (spec.planOnly)", "", false},
		"the stack never applies":  {stackThat(pending("p1"), mode(infrav1.ApprovePlanDisable)), "", `the stack only checks for drift (spec.approvePlan is "disable")`, "", false},
		"the stack applies itself": {stackThat(pending("p1"), mode(infrav1.ApprovePlanAuto)), "", `the stack applies its plans automatically (spec.approvePlan is "auto")`, "status", false},
		"a circuit breaker holds its plan": {stackThat(pending("p1"), mode(infrav1.ApprovePlanAuto), func(t *infrav1.Terraform) {
			t.Status.Plan.HeldBy = "aws-down"
		}), "p1", "", "", false},
		"policies refuse it": {stackThat(pending("p1"), func(t *infrav1.Terraform) {
			t.Status.Plan.Policy = &infrav1.PolicyVerdict{Decision: infrav1.PolicyRefused, Message: "no public buckets"}
		}), "p1", "policies refuse plan p1, and no approval overrides that: no public buckets\nChange the program, or ask those who keep the policy for an exemption", "plan", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			id, err := Approvable(c.stack, c.id)
			if c.want == "" {
				if err != nil || id != "p1" {
					t.Fatalf("%s %v", id, err)
				}
				return
			}
			var refused *Refusal
			if !errors.As(err, &refused) || refused.Says != c.want || refused.Next != c.next || refused.Gone != c.gone {
				t.Errorf("%+v", refused)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	approve := func(stack *infrav1.Terraform) Change {
		c, _ := Approve(stack, "p1", now)
		return c
	}
	reject := func(stack *infrav1.Terraform) Change {
		c, err := Reject(stack, "p1")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for sentence, c := range map[string]struct {
		change Change
		want   string
	}{
		"an approval names the plan": {approve(stackThat(pending("p1"))),
			`{"metadata":{"annotations":{"yuba.dev/rejected":null}},"spec":{"approvePlan":"p1"}}`},
		"an approval of a rejected plan needs a request": {approve(stackThat(pending("p1"), func(t *infrav1.Terraform) { t.Spec.ApprovePlan = "p1" })),
			`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"2026-01-02T12:00:00Z","yuba.dev/rejected":null}},"spec":{"approvePlan":"p1"}}`},
		"auto stays auto": {approve(stackThat(pending("p1"), func(t *infrav1.Terraform) { t.Spec.ApprovePlan = infrav1.ApprovePlanAuto })),
			`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"2026-01-02T12:00:00Z","yuba.dev/approved":"p1","yuba.dev/rejected":null}}}`},
		"a rejection":                     {reject(stackThat(pending("p1"))), `{"metadata":{"annotations":{"yuba.dev/rejected":"p1"}}}`},
		"a replan takes back a rejection": {Replan("r"), `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"r","yuba.dev/rejected":null}}}`},
		"a reconciliation does not":       {Reconcile("r"), `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"r"}}}`},
		"suspend":                         {Suspend(true), `{"spec":{"suspend":true}}`},
		"destroy":                         {Destroy("r"), `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"r","yuba.dev/rejected":null}},"spec":{"destroy":true}}`},
		"only if nobody changed it":       {Suspend(false).If("7"), `{"metadata":{"resourceVersion":"7"},"spec":{"suspend":false}}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := json.Marshal(c.change)
			if diff := cmp.Diff(c.want, string(got)); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

func TestDeletionSaysWhatItLeaves(t *testing.T) {
	applied := func(t *infrav1.Terraform) { t.Status.LastAppliedRevision = "main@sha1:1" }
	destroys := func(t *infrav1.Terraform) { t.Spec.DestroyResourcesOnDeletion = true }
	for sentence, c := range map[string]struct {
		stack       *infrav1.Terraform
		says, stays string
		left        bool
	}{
		"nothing was applied":           {stackThat(), "", "", false},
		"its resources stay":            {stackThat(applied), "leaves its resources in place", "Its resources stay", true},
		"everything is destroyed":       {stackThat(applied, destroys), "destroys everything", "", false},
		"only the targets are":          {stackThat(applied, destroys, func(t *infrav1.Terraform) { t.Spec.Targets = []string{"a.b"} }), "spec.targets: a.b", "outside spec.targets", false},
		"a state elsewhere stays there": {stackThat(applied, func(t *infrav1.Terraform) { t.Spec.Cloud = &infrav1.CloudSpec{} }), "custom backend", "custom backend", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			says, left := Deletion(c.stack)
			stays := StaysBehind(c.stack)
			if (says == "") != (c.says == "") || !strings.Contains(says, c.says) || left != c.left || (stays == "") != (c.stays == "") || !strings.Contains(stays, c.stays) {
				t.Errorf("%q %v %q", says, left, stays)
			}
		})
	}
}
