// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package verbs says what a person can do with a stack: each verb turns a stack, as the person saw
// it, into the change of the object that does it, or into a refusal that says why not.
//
// The command line and the web page do the same thing in the same way because both ask here. The
// package sends nothing: its callers send the change as the person, and the API server authorises it.
package verbs

import (
	"fmt"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// Change is a merge patch of a stack: fields by name, nil deletes one.
type Change struct {
	Metadata map[string]any `json:"metadata,omitempty"`
	Spec     map[string]any `json:"spec,omitempty"`
}

// Annotate sets annotations, or deletes those whose value is nil.
func (c Change) Annotate(annotations map[string]any) Change {
	c.Metadata = map[string]any{"annotations": annotations}
	return c
}

// If makes the change only apply to the object with this resourceVersion: if it was changed since,
// the API server responds with a conflict.
func (c Change) If(resourceVersion string) Change {
	metadata := map[string]any{"resourceVersion": resourceVersion}
	for name, value := range c.Metadata {
		metadata[name] = value
	}
	c.Metadata = metadata
	return c
}

// Refusal says why a verb is not possible now.
type Refusal struct {
	Says string
	// Hint says what to do next, in words that a command can follow. Next is the verb of that command:
	// "plan", "resume", "status". Both are empty for nothing.
	Hint, Next string
	// Gone is true if what was asked for is not there.
	Gone bool
}

func (r *Refusal) Error() string { return r.Says }

// NewRequest is a value for the annotation that requests a reconciliation.
func NewRequest(now time.Time) string { return now.UTC().Format(time.RFC3339Nano) }

// Approvable returns the id of the plan that can be approved. If id is not empty, it must be that one.
func Approvable(t *infrav1.Terraform, id string) (string, error) {
	pending := t.Status.Plan.Pending
	switch {
	case pending == "":
		return "", &Refusal{"no plan waits for approval", "See", "status", true}
	case id != "" && id != pending:
		return "", &Refusal{fmt.Sprintf("plan %s is not pending; the pending plan is %s", id, pending), "Show it with", "plan", true}
	case t.Spec.PlanOnly && !t.Status.Plan.IsDeletionPlan:
		return "", &Refusal{Says: "the stack only allows plans (spec.planOnly)"}
	case t.DriftOnly() && !t.Status.Plan.IsDeletionPlan:
		return "", &Refusal{Says: `the stack only checks for drift (spec.approvePlan is "disable")`}
	case t.Spec.Suspend:
		return "", &Refusal{Says: "the stack is suspended", Hint: "Resume it first", Next: "resume"}
	case t.RefusedByPolicy():
		return "", &Refusal{Says: fmt.Sprintf("policies refuse plan %s, and no approval overrides that: %s\nChange the program, or ask those who keep the policy for an exemption",
			pending, t.Status.Plan.Policy.Message), Hint: "See", Next: "plan"}
	case t.AppliesByItself() && !t.HoldsPlans():
		return "", &Refusal{Says: fmt.Sprintf("the stack applies its plans automatically (spec.approvePlan is %q)", t.Spec.ApprovePlan), Hint: "See", Next: "status"}
	}
	return pending, nil
}

// Approve approves the pending plan with this id. The returned request is the reconciliation that it
// requests; empty if the changed spec causes one. Plans that need recorded approvals are not approved
// by a change of the object.
func Approve(t *infrav1.Terraform, id string, now time.Time) (c Change, request string) {
	annotations := map[string]any{infrav1.AnnotationRejected: nil}
	if t.Spec.ApprovePlan == id || t.AppliesByItself() {
		request = NewRequest(now)
		annotations[infrav1.AnnotationReconcile] = request
	}
	if t.AppliesByItself() {
		annotations[infrav1.AnnotationApproved] = id
		return Change{}.Annotate(annotations), request
	}
	return Change{Spec: map[string]any{"approvePlan": id}}.Annotate(annotations), request
}

// Reject rejects the pending plan. If id is not empty, it must be that one.
func Reject(t *infrav1.Terraform, id string) (Change, error) {
	pending := t.Status.Plan.Pending
	switch {
	case pending == "":
		return Change{}, &Refusal{"the stack has no pending plan", "See", "status", true}
	case id != "" && id != pending:
		return Change{}, &Refusal{fmt.Sprintf("plan %s is not pending; the pending plan is %s", id, pending), "Show it with", "plan", true}
	}
	return Change{}.Annotate(map[string]any{infrav1.AnnotationRejected: pending}), nil
}

// Reconcile requests a reconciliation.
func Reconcile(request string) Change {
	return Change{}.Annotate(map[string]any{infrav1.AnnotationReconcile: request})
}

// Replan requests a fresh plan, even of a rejected one.
func Replan(request string) Change {
	return Change{}.Annotate(map[string]any{infrav1.AnnotationReconcile: request, infrav1.AnnotationRejected: nil})
}

// Suspend stops a stack, or lets it go on.
func Suspend(stop bool) Change { return Change{Spec: map[string]any{"suspend": stop}} }

// Destroy plans the destruction of everything that a stack manages.
func Destroy(request string) Change {
	return Change{Spec: map[string]any{"destroy": true}}.Annotate(map[string]any{infrav1.AnnotationReconcile: request, infrav1.AnnotationRejected: nil})
}

// DestroysAtOnce reports whether no person sees the plan of a destruction before it is applied.
func DestroysAtOnce(t *infrav1.Terraform) bool { return t.AppliesByItself() || t.Spec.Force }
