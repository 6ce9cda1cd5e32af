// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/web/cause"
	"github.com/yuba-dev/yuba/internal/web/query"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// Stack is a stack with what a query sees of it. The object is shared and must not be changed.
type Stack struct {
	*infrav1.Terraform
	State standing.State
	Facts query.Stack
}

// Key is NAMESPACE/NAME.
func (s *Stack) Key() string { return s.Namespace + "/" + s.Name }

// Finder finds stacks.
type Finder struct {
	watched client.Reader
	answers answers
}

// New returns a finder of the watched stacks.
func New(watched client.Reader) *Finder { return &Finder{watched: watched} }

// Visible returns the stacks that the person may list, in no order.
func (f *Finder) Visible(r *site.Request) ([]*infrav1.Terraform, error) {
	scope, err := r.Scope(infrav1.GroupVersion.Group, "terraforms")
	if err != nil {
		return nil, err
	}
	if scope.Nothing() {
		return nil, nil
	}
	var list infrav1.TerraformList
	if err := f.watched.List(r.Context(), &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list stacks: %w", err)
	}
	all := make([]*infrav1.Terraform, 0, len(list.Items))
	for i := range list.Items {
		if t := &list.Items[i]; scope.Has(t.Namespace) {
			all = append(all, t)
		}
	}
	return all, nil
}

// Result is what a query has found.
type Result struct {
	// Stacks match, in the order of their states and names. Total is how many the person may see.
	Stacks []Stack
	Total  int
	// All are the stacks that the person may see, matching or not.
	All []*infrav1.Terraform
}

// Stacks returns the visible stacks that match a query. Errors of the query itself are refusals.
// causes asks for the causes of all found stacks, for grouping.
func (f *Finder) Stacks(r *site.Request, q query.Query, causes bool) (Result, error) {
	visible, err := f.Visible(r)
	if err != nil {
		return Result{}, err
	}
	facts, err := f.facts(r, q)
	if err != nil {
		return Result{}, err
	}
	return Result{Total: len(visible), All: visible, Stacks: Match(visible, q, facts, causes || q.Uses("cause"))}, nil
}

// Match returns the stacks that match, in the order of their states and names.
func Match(visible []*infrav1.Terraform, q query.Query, facts query.Facts, causes bool) []Stack {
	found := make([]Stack, 0, len(visible))
	for _, t := range visible {
		s := Describe(t, causes)
		if q.Match(&s.Facts, facts) {
			found = append(found, s)
		}
	}
	Sort(found, func(a, b *Stack) int {
		return cmp.Or(a.State.Rank()-b.State.Rank(), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return found
}

// Sort sorts stacks and keeps the order of equal ones. It moves pointers: a stack has hundreds of bytes.
func Sort(stacks []Stack, compare func(a, b *Stack) int) {
	order := make([]*Stack, len(stacks))
	for i := range stacks {
		order[i] = &stacks[i]
	}
	slices.SortStableFunc(order, compare)
	sorted := make([]Stack, len(stacks))
	for i, s := range order {
		sorted[i] = *s
	}
	copy(stacks, sorted)
}

// Describe turns a stack into what a query sees of it.
func Describe(t *infrav1.Terraform, causes bool) Stack {
	state := standing.Of(t)
	s := Stack{Terraform: t, State: state, Facts: query.Stack{
		Namespace: t.Namespace, Name: t.Name, State: string(state), Drift: Drifts(t), Changed: Changed(t), Labels: t.Labels,
		Source: SourceOf(t), Tenant: standing.TenantOf(t), Text: standing.Sentence(t),
	}}
	if causes {
		if f, ok := Problem(t, state); ok {
			s.Facts.Cause = cause.Of(f).Key()
		}
	}
	return s
}

// Drifts reports whether the infrastructure differs from the last apply, as far as is known.
func Drifts(t *infrav1.Terraform) bool {
	return t.Status.Plan.Pending != "" && t.Status.Plan.IsDriftDetectionPlan || ready(t).reason == infrav1.ReasonDriftDetected
}

// Problem returns what is known about a stack's failure or drift; ok is false if it has none.
func Problem(t *infrav1.Terraform, state standing.State) (f cause.Facts, ok bool) {
	c := ready(t)
	f = cause.Facts{Namespace: t.Namespace, Name: t.Name, Reason: c.reason, Message: c.message}
	switch {
	case c.reason == infrav1.ReasonDriftDetected:
		f.Kind = cause.Drift
	case state == standing.Failed, state == standing.Waiting && c.failed:
		f.Kind = cause.Failure
	default:
		return f, false
	}
	return f, true
}

type condition struct {
	reason, message string
	failed          bool
}

func ready(t *infrav1.Terraform) condition {
	for i := range t.Status.Conditions {
		if c := &t.Status.Conditions[i]; c.Type == infrav1.ConditionReady {
			return condition{c.Reason, c.Message, c.Status == "False"}
		}
	}
	return condition{}
}

// Changed is when something about a stack last changed: its readiness, its runs or its plan.
func Changed(t *infrav1.Terraform) time.Time {
	last := standing.Since(t).Time
	if last.IsZero() {
		last = t.CreationTimestamp.Time
	}
	for _, run := range []*infrav1.RunReference{t.Status.LastRun, t.Status.CurrentRun} {
		if run == nil {
			continue
		}
		if at := run.StartedAt; at != nil && at.After(last) {
			last = at.Time
		}
		if at := run.FinishedAt; at != nil && at.After(last) {
			last = at.Time
		}
	}
	return last
}

// SourceOf is KIND/NAMESPACE/NAME of a stack's source; empty for inline programs.
func SourceOf(t *infrav1.Terraform) string {
	ref := t.Spec.SourceRef
	if ref == nil {
		return ""
	}
	return ref.Kind + "/" + t.SourceNamespace() + "/" + ref.Name
}

// facts asks what the query needs to know besides the stacks.
func (f *Finder) facts(r *site.Request, q query.Query) (query.Facts, error) {
	facts := query.Facts{Now: r.Now}
	for _, lookup := range q.Lookups() {
		users, err := f.Users(r, lookup.Of)
		if err != nil {
			return facts, err
		}
		set := make(map[string]bool, len(users))
		for _, u := range users {
			set[u.Namespace+"/"+u.Stack] = true
		}
		if facts.Users == nil {
			facts.Users = map[query.Lookup]map[string]bool{}
		}
		facts.Users[lookup] = set
	}
	return facts, nil
}

// refusalOf explains why a question about modules has no answer.
func refusalOf(of string, err error) error {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err):
		return &site.Refusal{Code: 403, Says: fmt.Sprintf("The users of %s are only shown with the right to list them in all namespaces.", of),
			Hint: "You need the right to get usage.content.yuba.dev. Leave the term out to see your stacks."}
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &status) && status.Status().Code < 500:
		return site.BadRequest(fmt.Sprintf("The server cannot list the users of %s: %s.", of, strings.TrimSuffix(err.Error(), ".")), "")
	}
	return fmt.Errorf("ask who uses %s: %w", of, err)
}
