// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
)

// maxEnvironments limits the statuses of environments: each is a request to the forge.
const maxEnvironments = 20

// environments are the environments of stacks, by their label.
type environments struct {
	label string
	// of are those of the stacks that follow the repository.
	of map[string]string
}

// environments finds the environments of the stacks that pull requests of a repository can change.
func (r *Reconciler) environments(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory, l *link) (*environments, error) {
	e := &environments{label: o.Spec.Feedback.EnvironmentLabel, of: map[string]string{}}
	for _, source := range append([]*sourcev1.GitRepository{l.source}, m.including(l.source)...) {
		stacks, err := r.following(ctx, o, source)
		if err != nil {
			return nil, err
		}
		for i := range stacks {
			if name := stacks[i].Labels[e.label]; name != "" {
				e.of[stacks[i].Namespace+"/"+stacks[i].Name] = name
			}
		}
	}
	return e, nil
}

// stack are the environments of a stack of a pull request: two, if that changes its label.
func (e *environments) stack(p *pull, name string) (out []string) {
	if now := e.of[name]; now != "" {
		out = append(out, now)
	}
	if s := p.find(name); s != nil && s.Environment != "" && !slices.Contains(out, s.Environment) {
		out = append(out, s.Environment)
	}
	return out
}

// reports are the parts of a report by environment. What is about no stack is in each.
func (r *Reconciler) reports(ctx context.Context, e *environments, p *pull, shown comment.Report) (map[string]*comment.Report, error) {
	out := map[string]*comment.Report{}
	part := func(name string) *comment.Report {
		if out[name] == nil {
			one := shown
			one.Stacks, one.Consequences = nil, nil
			out[name] = &one
		}
		return out[name]
	}
	for _, name := range e.of {
		part(name)
	}
	for _, s := range shown.Stacks {
		for _, name := range e.stack(p, s.Name) {
			part(name).Stacks = append(part(name).Stacks, s)
		}
	}
	for _, c := range shown.Consequences { // they follow any repository
		name := e.of[c.Name]
		if name == "" {
			stack := &infrav1.Terraform{}
			if err := r.Client.Get(ctx, stackKey(c.Name), stack); client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("read the stack %s: %w", c.Name, err)
			}
			name = stack.Labels[e.label]
		}
		if name != "" {
			part(name).Consequences = append(part(name).Consequences, c)
		}
	}
	return out, nil
}

// showEnvironments sets a status for each environment.
func (r *Reconciler) showEnvironments(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory, l *link, p *pull, commit string, shown comment.Report) error {
	if o.Spec.Feedback.EnvironmentLabel == "" {
		return nil
	}
	e, err := r.environments(ctx, o, m, l)
	if err != nil {
		return err
	}
	parts, err := r.reports(ctx, e, p, shown)
	if err != nil {
		return err
	}
	if p.EnvironmentsOf != commit {
		p.EnvironmentsOf, p.Environments = commit, map[string]string{}
	}
	for name := range p.Environments { // its last stack is gone, and its status must not stay as it was
		if parts[name] == nil {
			one := shown
			one.Stacks, one.Consequences = nil, nil
			parts[name] = &one
		}
	}
	waiting, running := p.numbers()
	for _, name := range e.first(parts) {
		status := statusOf(o, p, *parts[name])
		status.Name, status.Annotations = status.Name+"/"+name, nil // the status of all stacks has them
		said := string(status.Result)
		if waiting+running == 0 || p.Merged != nil { // until then, numbers that change are not worth a request
			said += " " + digestOf(fmt.Sprint(status))
		}
		if p.Environments[name] == said || status.Name == applyStatus(o) {
			continue
		}
		if err := l.forge.SetStatus(ctx, commit, status); err != nil {
			return err
		}
		p.Environments[name] = said
	}
	return nil
}

// maxShownEnvironments limits those in the status of the planner: of a pull request whose environments change, there are
// more than [maxEnvironments] in the end.
const maxShownEnvironments = 50

// environmentsIn are the statuses of environments that the forge has at the present commit, by their names.
func environmentsIn(o *yubav1.PullRequestPlanner, p *pull) (out []yubav1.PullRequestEnvironment) {
	merged := p.Merged != nil && p.EnvironmentsOf == p.Merged.Commit
	if o.Spec.Feedback.EnvironmentLabel == "" || p.EnvironmentsOf != p.Now.Head.Commit && !merged {
		return nil // those of an earlier commit say nothing about this one
	}
	names := slices.Sorted(maps.Keys(p.Environments))
	for _, name := range names[:min(len(names), maxShownEnvironments)] {
		result, _, _ := strings.Cut(p.Environments[name], " ")
		out = append(out, yubav1.PullRequestEnvironment{Name: name, Status: statusName(o) + "/" + name, Result: result})
	}
	return out
}

// first are the environments that get a status: those of stacks that exist, and of these those with changes first. A pull
// request that adds many environments replaces no status that branch protection may require.
func (e *environments) first(parts map[string]*comment.Report) []string {
	known := map[string]bool{}
	for _, name := range e.of {
		known[name] = true
	}
	rank := func(name string) int {
		rank := -min(len(parts[name].Stacks)+len(parts[name].Consequences), 1)
		if !known[name] {
			rank += 2
		}
		return rank
	}
	names := slices.SortedFunc(maps.Keys(parts), func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
	return names[:min(len(names), maxEnvironments)]
}

// withoutStatus are the changed environments that get no status: there are too many, or the name is that of the status of
// the apply.
func (r *Reconciler) withoutStatus(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory, l *link, p *pull, shown comment.Report) (out []string, err error) {
	if o.Spec.Feedback.EnvironmentLabel == "" {
		return nil, nil
	}
	e, err := r.environments(ctx, o, m, l)
	if err != nil {
		return nil, err
	}
	parts, err := r.reports(ctx, e, p, shown)
	if err != nil {
		return nil, err
	}
	first := e.first(parts)
	for name, part := range parts {
		reserved := statusName(o)+"/"+name == applyStatus(o)
		if len(part.Stacks)+len(part.Consequences) > 0 && (reserved || !slices.Contains(first, name)) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// applyStatus is the name of the status that says whether a pull request is applied.
func applyStatus(o *yubav1.PullRequestPlanner) string {
	return cmp.Or(o.Spec.Apply.Status, statusName(o)+"/apply")
}
