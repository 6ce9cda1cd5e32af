// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package acts

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/access"
)

// Verb is what is done with stacks.
type Verb string

// The verbs.
const (
	Approve   Verb = "approve"
	Reject    Verb = "reject"
	Replan    Verb = "replan"
	Reconcile Verb = "reconcile"
	Suspend   Verb = "suspend"
	Resume    Verb = "resume"
)

// Verbs lists all verbs.
func Verbs() []Verb { return []Verb{Approve, Reject, Replan, Reconcile, Suspend, Resume} }

// Known reports whether there is such a verb.
func (v Verb) Known() bool { return slices.Contains(Verbs(), v) }

// Decides reports whether the verb is about a pending plan.
func (v Verb) Decides() bool { return v == Approve || v == Reject }

// Label is the verb on a button.
func (v Verb) Label() string { return strings.ToUpper(string(v[:1])) + string(v[1:]) }

// Row is a stack as a person saw it. Plan and Digest are empty where no plan was shown.
type Row struct{ Namespace, Name, Plan, Digest string }

// RowOf is a stack as it is now.
func RowOf(t *infrav1.Terraform) Row {
	return Row{t.Namespace, t.Name, t.Status.Plan.Pending, t.Status.Plan.Digest}
}

// Key is NAMESPACE/NAME.
func (r Row) Key() string { return r.Namespace + "/" + r.Name }

// String writes a row for a form: NAMESPACE/NAME, the plan's id and its digest.
func (r Row) String() string {
	return strings.TrimSpace(r.Key() + " " + r.Plan + " " + r.Digest)
}

// ParseRow reads a row of a form.
func ParseRow(text string) (r Row, ok bool) {
	parts := strings.Fields(text)
	if len(parts) == 0 || len(parts) > 3 {
		return r, false
	}
	namespace, name, found := strings.Cut(parts[0], "/")
	r = Row{Namespace: namespace, Name: name}
	if len(parts) > 1 {
		r.Plan = parts[1]
	}
	if len(parts) > 2 {
		r.Digest = parts[2]
	}
	return r, found && namespace != "" && name != "" && !strings.Contains(name, "/")
}

// Right is what a person needs to do a verb with a stack.
func Right(v Verb, t *infrav1.Terraform) access.Right {
	if v == Approve && t.NeedsRecordedApprovals() {
		return access.Right{Verb: "create", Group: "content.yuba.dev", Resource: "terraforms", Subresource: "approve", Namespace: t.Namespace}
	}
	return access.Right{Verb: "patch", Group: infrav1.GroupVersion.Group, Resource: "terraforms", Namespace: t.Namespace}
}

// Foresee says what a verb will do with a stack, or why it cannot.
func Foresee(v Verb, t *infrav1.Terraform) (will, cannot string) {
	if v.Decides() {
		return foreseeDecision(v, t)
	}
	if !t.DeletionTimestamp.IsZero() {
		return "", "It is being deleted."
	}
	switch {
	case v == Suspend && t.Spec.Suspend:
		return "", "It is suspended already."
	case v == Suspend:
		return "It starts no runs until it is resumed.", ""
	case v == Resume && !t.Spec.Suspend:
		return "", "It is not suspended."
	case v == Resume:
		return "It is reconciled again.", ""
	case t.Spec.Suspend:
		return "", "It is suspended. Resume it first."
	case v == Replan && t.AppliesByItself():
		return "It is planned again, and the plan is applied unless something holds it.", ""
	case v == Replan:
		return "It is planned again.", ""
	}
	return "It is reconciled now.", ""
}

func foreseeDecision(v Verb, t *infrav1.Terraform) (will, cannot string) {
	p := t.Status.Plan
	if text := verbs.Decided(t, p.Pending); text != "" && !t.NeedsRecordedApprovals() {
		return "", capital(text) + "."
	}
	if v == Reject {
		if _, err := verbs.Reject(t, ""); err != nil {
			return "", why(err)
		}
		return "The plan is never applied. A change, or a replan, makes another one.", ""
	}
	if _, err := verbs.Approvable(t, ""); err != nil {
		return "", why(err)
	}
	what := "the plan is applied"
	switch {
	case p.IsDestroyPlan:
		what = "everything that it manages is destroyed"
	case p.Summary != "":
		what = "the plan is applied: " + p.Summary
	}
	if t.NeedsRecordedApprovals() {
		return fmt.Sprintf("Your approval is recorded. Once all approvals are there, %s. %s", what, p.Policy.Message), ""
	}
	return capital(what) + ".", ""
}

// why is the sentence of an error.
func why(err error) string {
	var refused *verbs.Refusal
	if errors.As(err, &refused) {
		return capital(refused.Says) + "."
	}
	return capital(err.Error()) + "."
}

func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
