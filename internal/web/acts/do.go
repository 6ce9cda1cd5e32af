// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package acts

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	keep "github.com/yuba-dev/yuba/internal/objects/approval"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// Do does a verb with a stack, if it still is as the person saw it. It returns one sentence.
func Do(r *site.Request, v Verb, row Row, comment string) (string, error) {
	return Steadily(row.Key(), func() (string, error) { return once(r, v, row, verbs.Comment(comment)) })
}

func once(r *site.Request, v Verb, row Row, comment string) (string, error) {
	var t infrav1.Terraform
	if err := r.As.Objects.Get(r.Context(), types.NamespacedName{Namespace: row.Namespace, Name: row.Name}, &t); err != nil {
		return "", err
	}
	if v.Decides() {
		return decide(r, v, &t, row, comment)
	}
	if _, cannot := Foresee(v, &t); cannot != "" {
		return "", site.Conflict(fmt.Sprintf("Nothing was done with %s: %s", row.Key(), cannot), "")
	}
	request := verbs.NewRequest(r.Now)
	change, says := verbs.Reconcile(request), "Reconciliation of %s is requested."
	switch v {
	case Replan:
		change, says = verbs.Replan(request), "A fresh plan of %s is requested."
	case Suspend:
		change, says = verbs.Suspend(true), "%s is suspended."
	case Resume:
		change, says = verbs.Suspend(false), "%s is resumed."
	}
	return fmt.Sprintf(says, row.Key()), Patch(r, &t, change)
}

// decide approves or rejects exactly the plan that the person saw.
func decide(r *site.Request, v Verb, t *infrav1.Terraform, row Row, comment string) (string, error) {
	if err := Unmoved(v, t, row); err != nil {
		return "", err
	}
	if v == Approve && t.NeedsRecordedApprovals() {
		return record(r, t, row, comment)
	}
	change, done, verdict := verbs.Change{}, "approved and will be applied", verbs.Approved
	if v == Approve {
		change, _ = verbs.Approve(t, row.Plan, r.Now)
	} else {
		var err error
		if change, err = verbs.Reject(t, row.Plan); err != nil {
			return "", err
		}
		done, verdict = "rejected and will never be applied", verbs.Rejected
	}
	change, err := change.Decide(verbs.Decision{Plan: row.Plan, Verdict: verdict, By: r.Person.Name, At: r.Now, Comment: comment})
	if err != nil {
		return "", err
	}
	if err := Patch(r, t, change.If(t.ResourceVersion)); err != nil {
		return "", err
	}
	says := fmt.Sprintf("Plan %s of %s is %s.", row.Plan, row.Key(), done)
	if by := keep.Enforcer(t); v == Approve && by != "" && !t.AppliesByItself() {
		says += fmt.Sprintf(" %s applies approvePlan from a manifest, and may set it back before that. Approve it in the manifest, or leave approvePlan out of it.", diagnostic.Printable(by))
	}
	return says, nil
}

// Unmoved returns why a decision about the plan that a person saw is not possible any more; nil if it is.
func Unmoved(v Verb, t *infrav1.Terraform, row Row) error {
	nothing := "Nothing was " + verbs.Approved
	if v == Reject {
		nothing = "Nothing was " + verbs.Rejected
	}
	if row.Plan == "" || row.Digest == "" {
		return site.BadRequest(fmt.Sprintf("%s: the form does not name the plan of %s and its digest.", nothing, row.Key()), "")
	}
	if text := verbs.Decided(t, row.Plan); text != "" && !(v == Approve && t.NeedsRecordedApprovals()) {
		return site.Conflict(fmt.Sprintf("%s: %s.", nothing, text), "")
	}
	var err error
	if v == Approve {
		_, err = verbs.Approvable(t, row.Plan)
	} else {
		_, err = verbs.Reject(t, row.Plan)
	}
	var refused *verbs.Refusal
	switch {
	case errors.As(err, &refused) && refused.Gone && t.Status.Plan.Pending != "":
		return site.Conflict(fmt.Sprintf("%s: the plan of %s has moved on. You saw %s, and now %s is pending.", nothing, row.Key(), row.Plan, t.Status.Plan.Pending), "Look at it again.")
	case errors.As(err, &refused):
		return site.Conflict(fmt.Sprintf("%s: %s: %s.", nothing, row.Key(), strings.TrimSuffix(refused.Says, ".")), "")
	case err != nil:
		return err
	case row.Digest != t.Status.Plan.Digest:
		return site.Conflict(fmt.Sprintf("%s: plan %s of %s has other bytes than those that you saw.", nothing, row.Plan, row.Key()), "Look at it again.")
	}
	return nil
}

// record gives an approval that policies ask for.
func record(r *site.Request, t *infrav1.Terraform, row Row, comment string) (string, error) {
	p := t.Status.Plan
	if slices.ContainsFunc(p.Approvals, func(a infrav1.PlanApproval) bool { return a.User == r.Person.Name && a.Bound == p.Policy.Bound }) {
		return fmt.Sprintf("You have approved plan %s of %s already. %s", row.Plan, row.Key(), p.Policy.Message), nil
	}
	if _, err := r.As.Content.ApproveSaying(r.Context(), row.Namespace, row.Name, row.Plan, p.Policy.Bound, comment); err != nil {
		return "", err
	}
	return fmt.Sprintf("Your approval of plan %s of %s is recorded.", row.Plan, row.Key()), nil
}
