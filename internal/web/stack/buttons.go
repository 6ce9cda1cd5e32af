// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/acts"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// contentGroup is the group of what is not an object.
const contentGroup = "content.yuba.dev"

// button is a verb as it is possible now.
type button struct {
	verb   string
	button site.Button
	right  access.Right
	// typed must be typed before the verb, because of what warns says; empty for nothing.
	typed, warns string
}

// buttonsOf are the verbs that make sense for a stack now, the most urgent first. One that is not
// possible says why.
func buttonsOf(t *infrav1.Terraform) []button {
	all := planButtons(t)
	patch := patches(t)
	suspended := ""
	if t.Spec.Suspend {
		suspended = "It is suspended. Resume it first."
		all = append(all, verbButton(acts.Resume, t, ""))
	}
	if c := t.Status.CurrentRun; c != nil {
		confirm := "Cancel run " + c.ID + "? tofu is interrupted, finishes its current operations and stores the state."
		all = append(all, button{verb: "cancel", right: contentRight(t, "cancel"), button: site.Button{Label: "Cancel the run", Confirm: confirm, Values: values("run", c.ID)}})
	}
	if lock := t.Status.Lock.Pending; lock != "" {
		confirm := "Release lock " + lock + "? Be sure that its holder is gone: two writers damage a state."
		all = append(all, button{verb: "unlock", right: contentRight(t, "unlock"), button: site.Button{Label: "Force unlock", Danger: true, Confirm: confirm, Values: values("lock", lock)}})
	}
	if u := t.Status.Unproven; u != nil && len(u.Runs) > 0 {
		confirm := "Did you check the listed resources, and should Yuba take them off the list?"
		all = append(all, button{verb: "acknowledge", right: patch, button: site.Button{Label: "Acknowledge the unproven resources", Confirm: confirm, Values: values("run", u.Runs[len(u.Runs)-1].ID)}})
	}
	all = append(all, verbButton(acts.Replan, t, ""), verbButton(acts.Reconcile, t, ""))
	if !t.Spec.Suspend {
		all = append(all, verbButton(acts.Suspend, t, "Suspend the stack? Yuba does not plan, apply or check for drift until it is resumed."))
	}
	return append(all, endings(t, suspended)...)
}

// verbButton is a verb that is about no plan.
func verbButton(v acts.Verb, t *infrav1.Terraform, confirm string) button {
	_, cannot := acts.Foresee(v, t)
	return button{verb: string(v), right: patches(t), button: site.Button{Label: v.Label(), Confirm: confirm, Missing: cannot}}
}

// planButtons decide about the pending plan.
func planButtons(t *infrav1.Terraform) []button {
	pending := t.Status.Plan.Pending
	if pending == "" {
		return nil
	}
	seen := values("plan", pending, "digest", t.Status.Plan.Digest)
	approve := site.Button{Label: "Approve", Key: "a", Values: seen, Confirm: fmt.Sprintf("Approve plan %s (%s)? Yuba applies exactly this plan.", pending, t.Status.Plan.Summary)}
	if p := t.Status.Plan; p.IsDestroyPlan || p.IsDeletionPlan {
		approve.Label, approve.Danger = "Approve the destruction", true
		approve.Confirm = "Do you really want to destroy everything that this stack manages? There is no undo."
	}
	_, approve.Missing = acts.Foresee(acts.Approve, t)
	reject := site.Button{Label: "Reject", Key: "r", Values: seen}
	_, reject.Missing = acts.Foresee(acts.Reject, t)
	return []button{{verb: "approve", right: approves(t), button: approve}, {verb: "reject", right: patches(t), button: reject}}
}

// endings destroy resources, or the stack.
func endings(t *infrav1.Terraform, suspended string) []button {
	var all []button
	if !t.Spec.Destroy {
		warns := "Yuba plans the destruction of everything that this stack manages. The plan waits for approval. The stack stays."
		if verbs.DestroysAtOnce(t) {
			warns = "The stack applies plans automatically, so everything it manages is destroyed at once. There is no undo."
		}
		all = append(all, button{verb: "destroy", right: patches(t), typed: t.Name, warns: warns,
			button: site.Button{Label: "Destroy its resources", Danger: true, Missing: suspended, Values: values("uid", string(t.UID), "generation", fmt.Sprint(t.Generation))}})
	}
	warns, _ := verbs.Deletion(t)
	if warns == "" {
		warns = "Nothing was applied by this stack, so nothing else is deleted."
	}
	missing := ""
	if !t.DeletionTimestamp.IsZero() {
		missing = "The stack is being deleted already."
	}
	return append(all, button{verb: "delete", typed: t.Name, warns: warns, right: access.Right{Verb: "delete", Group: infrav1.GroupVersion.Group, Resource: "terraforms", Namespace: t.Namespace, Name: t.Name},
		button: site.Button{Label: "Delete the stack", Danger: true, Missing: missing, Values: values("uid", string(t.UID), "generation", fmt.Sprint(t.Generation))}})
}

// approves is the right to approve the plan of a stack.
func approves(t *infrav1.Terraform) access.Right {
	if t.NeedsRecordedApprovals() {
		return contentRight(t, "approve")
	}
	return patches(t)
}

func patches(t *infrav1.Terraform) access.Right {
	return access.Right{Verb: "patch", Group: infrav1.GroupVersion.Group, Resource: "terraforms", Namespace: t.Namespace, Name: t.Name}
}

func contentRight(t *infrav1.Terraform, what string) access.Right {
	return access.Right{Verb: "create", Group: contentGroup, Resource: "terraforms", Subresource: what, Namespace: t.Namespace, Name: t.Name}
}

// values are hidden fields of names and values.
func values(pairs ...string) []site.Value {
	var all []site.Value
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, site.Value{Name: pairs[i], Value: pairs[i+1]})
	}
	return all
}

// verdicts are what policies and contracts say about the pending plan.
type verdicts struct {
	Policy    *infrav1.PolicyVerdict
	Approvals []infrav1.PlanApproval
	Contracts []infrav1.ContractVerdict
	Published []infrav1.PublishedRevision
	Consumed  []infrav1.ConsumedContract
	Problem   string
	// Broken counts contracts that the plan breaks.
	Broken int
}

// verdictsOf returns nil if neither policies nor contracts are about the stack.
func verdictsOf(t *infrav1.Terraform) *verdicts {
	v := &verdicts{}
	if p := t.Status.Plan; p.Pending != "" {
		v.Policy, v.Approvals = p.Policy, p.Approvals
		if p.Contracts != nil {
			v.Contracts = p.Contracts.Verdicts
		}
	}
	for i := range v.Contracts {
		if v.Contracts[i].Outcome == infrav1.ContractBreaks {
			v.Broken++
		}
	}
	if c := t.Status.Contracts; c != nil {
		v.Published, v.Consumed, v.Problem = c.Published, c.Consumes, strings.TrimSpace(c.Problem)
	}
	if v.Policy == nil && len(v.Contracts)+len(v.Published)+len(v.Consumed) == 0 && v.Problem == "" {
		return nil
	}
	return v
}
