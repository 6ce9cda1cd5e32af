// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// stackThat is a stack named team/vpc that differs from an idle one as the changes say.
func stackThat(changes ...func(*infrav1.Terraform)) *infrav1.Terraform {
	t := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "vpc", UID: "u", Generation: 3}}
	t.Status.ObservedGeneration = 3
	for _, change := range changes {
		change(t)
	}
	return t
}

func pending(t *infrav1.Terraform) { t.Status.Plan.Pending, t.Status.Plan.Digest = "p1", "sha256:d" }

func TestButtons(t *testing.T) {
	for sentence, c := range map[string]struct {
		stack *infrav1.Terraform
		want  string // verbs; in brackets those that are not possible
	}{
		"idle":                   {stackThat(), "replan reconcile suspend destroy delete"},
		"a plan waits":           {stackThat(pending), "approve reject replan reconcile suspend destroy delete"},
		"the plan is approved":   {stackThat(pending, func(t *infrav1.Terraform) { t.Spec.ApprovePlan = "p1" }), "(approve) (reject) replan reconcile suspend destroy delete"},
		"the plan is rejected":   {stackThat(pending, func(t *infrav1.Terraform) { t.Annotations = map[string]string{infrav1.AnnotationRejected: "p1"} }), "(approve) (reject) replan reconcile suspend destroy delete"},
		"nothing may be applied": {stackThat(pending, func(t *infrav1.Terraform) { t.Spec.PlanOnly = true }), "(approve) reject replan reconcile suspend destroy delete"},
		"suspended":              {stackThat(pending, func(t *infrav1.Terraform) { t.Spec.Suspend = true }), "(approve) reject resume (replan) (reconcile) (destroy) delete"},
		"a run executes":         {stackThat(func(t *infrav1.Terraform) { t.Status.CurrentRun = &infrav1.RunReference{ID: "r"} }), "cancel replan reconcile suspend destroy delete"},
		"locked":                 {stackThat(func(t *infrav1.Terraform) { t.Status.Lock.Pending = "l" }), "unlock replan reconcile suspend destroy delete"},
		"locked elsewhere":       {stackThat(func(t *infrav1.Terraform) { t.Status.Lock.Pending, t.Spec.Cloud = "l", &infrav1.CloudSpec{} }), "unlock replan reconcile suspend destroy delete"},
		"resources are unproven": {stackThat(func(t *infrav1.Terraform) {
			t.Status.Unproven = &infrav1.UnprovenStatus{Runs: []infrav1.UnprovenRun{{ID: "r"}}}
		}), "acknowledge replan reconcile suspend destroy delete"},
		"it is destroyed already": {stackThat(func(t *infrav1.Terraform) { t.Spec.Destroy = true }), "replan reconcile suspend delete"},
		"it is being deleted":     {stackThat(func(t *infrav1.Terraform) { now := metav1.Now(); t.DeletionTimestamp = &now }), "(replan) (reconcile) (suspend) destroy (delete)"},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []string
			for _, b := range buttonsOf(c.stack) {
				verb := b.verb
				if b.button.Missing != "" {
					verb = "(" + verb + ")"
				}
				if _, known := actions[b.verb]; !known {
					t.Errorf("%s does nothing", b.verb)
				}
				if b.right.Namespace != "team" || b.right.Name != "vpc" {
					t.Errorf("%s needs %+v", b.verb, b.right)
				}
				got = append(got, verb)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatCannotBeUndoneIsTypedAndSaysWhatItDoes(t *testing.T) {
	applied := func(t *infrav1.Terraform) { t.Status.LastAppliedRevision = "main@sha1:1" }
	auto := func(t *infrav1.Terraform) { t.Spec.ApprovePlan = infrav1.ApprovePlanAuto }
	for sentence, c := range map[string]struct {
		stack           *infrav1.Terraform
		destroy, remove string
	}{
		"nothing was applied": {stackThat(), "The plan waits for approval", "Nothing was applied"},
		"its resources stay":  {stackThat(applied), "The plan waits for approval", "leaves its resources in place"},
		"all goes at once":    {stackThat(applied, auto, func(t *infrav1.Terraform) { t.Spec.DestroyResourcesOnDeletion = true }), "destroyed at once. There is no undo", "destroys everything"},
	} {
		t.Run(sentence, func(t *testing.T) {
			for _, b := range buttonsOf(c.stack) {
				want, dangerous := map[string]string{"destroy": c.destroy, "delete": c.remove}[b.verb]
				if dangerous && (b.typed != "vpc" || !strings.Contains(b.warns, want)) {
					t.Errorf("%s: %q %q", b.verb, b.typed, b.warns)
				}
			}
		})
	}
}

// Who may roll back and not ask for a plan has rolled back all the same.
func TestARollbackIsToldThoughNoPlanFollows(t *testing.T) {
	key := types.NamespacedName{Namespace: "team", Name: "vpc"}
	for want, err := range map[string]error{" A fresh plan is requested.": nil, " A fresh plan could not be requested: you may not. Request one: yuba replan team/vpc": errors.New("you may not.")} {
		if got := planned(key, err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestFacts(t *testing.T) {
	got := func(t *infrav1.Terraform) string {
		var b strings.Builder
		for _, f := range factsOf(t) {
			b.WriteString(f.Label + ": " + f.Text + "\n")
		}
		return b.String()
	}
	for sentence, c := range map[string]struct {
		stack *infrav1.Terraform
		want  string
	}{
		"a program in the object": {stackThat(func(t *infrav1.Terraform) { t.Spec.Inline = map[string]string{"main.tf": ""} }), "Program: in the object itself\nApproval: each plan waits for approval\n"},
		"a plan, a run and a lock": {stackThat(pending, func(t *infrav1.Terraform) {
			t.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "infra", Namespace: "flux"}
			t.Spec.Path, t.Spec.Workspace, t.Spec.ApprovePlan = "./a/b", "eu", infrav1.ApprovePlanDisable
			t.Labels = map[string]string{standing.LabelKustomization: "apps", standing.LabelKustomizationNamespace: "flux"}
			s := &t.Status
			s.LastAttemptedRevision, s.LastAppliedRevision = "main@sha1:0123456789abcdef", "main@sha1:fedcba9876543210"
			s.Plan.Summary, s.Plan.IsDestroyPlan, s.Lock.Pending = "+0 ~0 -3", true, "l1"
			s.LastRun = &infrav1.RunReference{ID: "r", Operation: "plan", Status: "succeeded"}
		}), "Program: GitRepository/flux/infra, directory a/b\nApplied by: Kustomization flux/apps\nRevision: main@sha1:0123456789 (last applied main@sha1:fedcba9876)\n" +
			"Approval: drift is detected and nothing is applied (approvePlan: \"disable\")\nPlan: p1 is never applied (approvePlan: disable): +0 ~0 -3, destroys everything\n" +
			"Last run: plan succeeded\nWorkspace: eu\nLock: held by another process, lock id l1\n"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, got(c.stack)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSensitiveOutputsAreShownByNameOnly(t *testing.T) {
	all := map[string]content.Output{"a": {Value: json.RawMessage(`"<b>"`)}, "b": {Value: json.RawMessage(`{"x":[1]}`)},
		"c": {Value: json.RawMessage(`"hunter2"`), Sensitive: true}, "d&e": {Value: json.RawMessage(`"hunter3"`), Sensitive: true}}
	want := []output{{Name: "a", Value: "<b>"}, {Name: "b", Value: "{\n  \"x\": [\n    1\n  ]\n}"}, {Name: "c", Sensitive: true, Show: "/o?show=c"},
		{Name: "d&e", Sensitive: true, Value: "hunter3", Hide: "/o"}}
	if diff := cmp.Diff(want, outputRows("/o", all, "d&e")); diff != "" {
		t.Error(diff)
	}
}

func TestNeighbours(t *testing.T) {
	order := func(names ...string) func(*infrav1.Terraform) {
		return func(t *infrav1.Terraform) {
			for _, name := range names {
				t.Spec.DependsOn = append(t.Spec.DependsOn, meta.NamespacedObjectReference{Name: name})
			}
		}
	}
	app := stackThat(order("vpc"))
	app.Name = "app"
	stacks := []infrav1.Terraform{*stackThat(order("dns")), *app}
	n := neighboursOf("team/vpc", stacks, true)
	if len(n.Before) != 1 || n.Before[0].Name != "team/dns" || n.Before[0].Missing != "not found" || n.Before[0].Address != "/stacks/team/dns" {
		t.Errorf("%+v", n.Before)
	}
	if len(n.After) != 1 || n.After[0].Name != "team/app" || n.After[0].Missing != "" || n.Partial || n.After[0].By != "dependsOn" {
		t.Errorf("%+v", n.After)
	}
	// Those who see some stacks do not know which others there are.
	if n = neighboursOf("team/vpc", stacks, false); n.Before[0].Missing != "not visible" || !n.Partial {
		t.Errorf("%+v", n)
	}
}

func TestYAMLHasNothingForMachines(t *testing.T) {
	stack := stackThat(func(t *infrav1.Terraform) {
		t.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
		t.Annotations = map[string]string{lastApplied: "{}", "mine": "x"}
	})
	text, err := yamlOf(stack)
	if err != nil || strings.Contains(text, "managedFields") || strings.Contains(text, "last-applied") || !strings.Contains(text, "mine: x") {
		t.Error(err, text)
	}
	if len(stack.ManagedFields) != 1 || len(stack.Annotations) != 2 {
		t.Error("the object itself was changed")
	}
}

func TestOutcomes(t *testing.T) {
	for want, rec := range map[string]run.Record{
		"waiting waiting":                          {},
		"ready succeeded":                          {Result: &run.Result{Outcome: run.OutcomeSucceeded}},
		"failed interrupted":                       {Result: &run.Result{Outcome: run.OutcomeInterrupted}},
		"suspended cancelled, nothing was changed": {Result: &run.Result{Outcome: run.OutcomeCanceled, Class: run.FailureCanceled}},
		"failed failed":                            {Result: &run.Result{Outcome: run.OutcomeFailed, Class: run.FailureState}},
	} {
		if state, words := outcomeOf(rec); state+" "+words != want {
			t.Errorf("%s %s, want %s", state, words, want)
		}
	}
}
