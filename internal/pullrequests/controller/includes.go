// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/decide"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// maxMapped limits the changed paths of an including GitRepository. With more, all its files count.
const maxMapped = 100_000

// selected is a GitRepository of the planner.
func (m *memory) selected(namespace, name string) *sourcev1.GitRepository {
	for _, s := range m.sources {
		if s.Namespace == namespace && s.Name == name {
			return s
		}
	}
	return nil
}

// including are the GitRepositories of the planner that include another one, also through others, which come first. Those
// that include themselves are left out: source controllers refuse them. So are those of other planners: the pull request
// would show their plans to people who may not see their repository.
func (m *memory) including(source *sourcev1.GitRepository) (order []*sourcev1.GitRepository) {
	leading, known := map[string]bool{source.Name: true}, map[string]bool{source.Name: true}
	// mark adds what fits until nothing more does.
	mark := func(names map[string]bool, fits func(s *sourcev1.GitRepository) bool, added func(s *sourcev1.GitRepository)) {
		for more := true; more; {
			more = false
			for _, s := range m.sources {
				if s.Namespace == source.Namespace && !names[s.Name] && fits(s) {
					names[s.Name], more = true, true
					added(s)
				}
			}
		}
	}
	leads := func(in sourcev1.GitRepositoryInclude) bool { return leading[in.GitRepositoryRef.Name] }
	mark(leading, func(s *sourcev1.GitRepository) bool { return slices.ContainsFunc(s.Spec.Include, leads) }, func(*sourcev1.GitRepository) {})
	mark(known, func(s *sourcev1.GitRepository) bool {
		return leading[s.Name] && !slices.ContainsFunc(s.Spec.Include, func(in sourcev1.GitRepositoryInclude) bool { return leads(in) && !known[in.GitRepositoryRef.Name] })
	}, func(s *sourcev1.GitRepository) { order = append(order, s) })
	return order
}

// included finds the stacks of GitRepositories that include the one of the pull request.
func (r *Reconciler) included(ctx context.Context, m *memory, l *link, p *pull, f finding) (more bool, err error) {
	changed := map[string][]string{l.source.Name: f.changed}
	for _, including := range m.including(l.source) {
		g := finding{planner: f.planner, source: including, via: including.Name, kept: f.kept, stacks: len(p.Stacks), changed: within(including, changed)}
		changed[including.Name] = g.changed
		if g.changed != nil && len(g.changed) == 0 {
			continue // it includes a part that does not change
		}
		if one := r.includedIn(ctx, m, l, p, &g); one != nil {
			err = errors.Join(err, fmt.Errorf("GitRepository %s: %w", including.Name, one))
		}
		f.kept, more = g.kept, more || g.more
	}
	return more, err
}

// includedIn finds those of one.
func (r *Reconciler) includedIn(ctx context.Context, m *memory, l *link, p *pull, g *finding) error {
	stacks, err := r.following(ctx, g.planner, g.source)
	if err != nil {
		return err
	}
	if makes, err := r.makesStacks(ctx, g.source); err != nil || len(stacks) == 0 && !makes {
		return err
	}
	base, err := r.Sources.Base(ctx, g.source)
	if err != nil {
		return err
	}
	if g.tree, err = r.compose(ctx, m, l, p, g.source); err != nil {
		return err
	}
	g.before, g.after, g.head = base.Tree, g.tree.Tree, g.tree.Tree
	if g.changed != nil {
		g.after = discover.Merged(g.before, g.after, g.changed)
	}
	for _, s := range g.programs(stacks) {
		known := p.find(s.Name)
		switch {
		case known == nil:
			p.Stacks = append(p.Stacks, s)
		case known.Elsewhere: // its manifest changes, too
			known.Elsewhere, known.Via, known.Files = false, s.Via, s.Files
			if known.State == comment.Waiting {
				known.State, known.Reason = s.State, s.Reason
			}
		}
	}
	slices.SortFunc(p.Stacks, func(a, b *stack) int { return strings.Compare(a.Name, b.Name) })
	return r.manifests(ctx, p, g, base)
}

// makesStacks reports whether a Kustomization makes objects of a GitRepository.
func (r *Reconciler) makesStacks(ctx context.Context, source *sourcev1.GitRepository) (bool, error) {
	var list kustomizev1.KustomizationList
	err := r.Client.List(ctx, &list, client.InNamespace(source.Namespace))
	if apimeta.IsNoMatchError(err) {
		return false, nil
	}
	return slices.ContainsFunc(list.Items, func(k kustomizev1.Kustomization) bool { return makes(&k, source) }), err
}

// compose is the source of an including GitRepository with the head of the pull request in it. It lasts as long as the head.
func (r *Reconciler) compose(ctx context.Context, m *memory, l *link, p *pull, including *sourcev1.GitRepository) (*Source, error) {
	if known := p.source.composed[including.Name]; known != nil {
		return known, nil
	}
	instead, order := map[string]*Source{}, m.including(l.source)
	for _, in := range including.Spec.Include {
		name := in.GitRepositoryRef.Name
		at := slices.IndexFunc(order, func(s *sourcev1.GitRepository) bool { return s.Name == name })
		switch {
		case name == l.source.Name:
			instead[name] = p.source.Source
		case at >= 0:
			one, err := r.compose(ctx, m, l, p, order[at])
			if err != nil {
				return nil, err
			}
			instead[name] = one
		}
	}
	made, err := r.Sources.Including(ctx, including, instead)
	if err != nil {
		return nil, err
	}
	if p.source.composed == nil {
		p.source.composed = map[string]*Source{}
	}
	p.source.composed[including.Name] = made
	return made, nil
}

// within are the changed paths of a GitRepository that includes others with changed paths, by their names; nil if they are
// not all known.
func within(including *sourcev1.GitRepository, changed map[string][]string) []string {
	out, known := []string{}, map[string]bool{}
	for i := range including.Spec.Include {
		in := &including.Spec.Include[i]
		names, leads := changed[in.GitRepositoryRef.Name]
		if leads && names == nil {
			return nil
		}
		from := strings.TrimPrefix(path.Join("/", in.GetFromPath()), "/")
		for _, name := range names {
			rest, inside := name, true
			if from != "" && name != from {
				rest, inside = strings.CutPrefix(name, from+"/")
			} else if name == from {
				rest = ""
			}
			to := strings.TrimPrefix(path.Join("/", in.GetToPath(), rest), "/")
			if !inside || known[to] {
				continue
			}
			if len(out) == maxMapped {
				return nil
			}
			known[to] = true
			out = append(out, to)
		}
	}
	return out
}

// withIncluded adds the GitRepositories that some include, at the same server: a planner's credentials are for one.
func (r *Reconciler) withIncluded(ctx context.Context, all []*sourcev1.GitRepository) ([]*sourcev1.GitRepository, error) {
	known := map[types.NamespacedName]bool{}
	for _, s := range all {
		known[client.ObjectKeyFromObject(s)] = true
	}
	for i := 0; i < len(all); i++ { // it grows
		for _, in := range all[i].Spec.Include {
			name := types.NamespacedName{Namespace: all[i].Namespace, Name: in.GitRepositoryRef.Name}
			if known[name] {
				continue
			}
			known[name] = true
			s := &sourcev1.GitRepository{}
			if err := r.Client.Get(ctx, name, s); client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("read GitRepository %s: %w", name, err)
			} else if err == nil && sameServer(all[i].Spec.URL, s.Spec.URL) {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

func sameServer(one, other string) bool {
	a, err := forge.ParseAddress(one)
	b, problem := forge.ParseAddress(other)
	return errors.Join(err, problem) == nil && strings.EqualFold(a.Server, b.Server)
}

// followIncluded looks at a stack of a merged pull request that reads it through another GitRepository. Nobody can tell from
// the revision which commit of the included one a plan is of, so that no review approves it.
func (r *Reconciler) followIncluded(ctx context.Context, l *link, p *pull, s *stack, t *infrav1.Terraform) (decide.Fate, string, error) {
	var source sourcev1.GitRepository
	key := types.NamespacedName{Namespace: t.SourceNamespace(), Name: s.Via}
	if err := r.Client.Get(ctx, key, &source); client.IgnoreNotFound(err) != nil {
		return "", "", fmt.Errorf("read GitRepository %s: %w", key, err)
	}
	a := source.Status.Artifact
	merged := a != nil && p.Merged.Commit != "" && slices.ContainsFunc(source.Status.IncludedArtifacts, func(one *meta.Artifact) bool {
		return one != nil && strings.Contains(one.Revision, p.Merged.Commit)
	})
	if !merged && !s.asked && p.Merged.Commit != "" && strings.Contains(revisionOf(l.source), p.Merged.Commit) {
		s.asked = true // Flux does not watch what is included
		r.fetch(ctx, &source)
	}
	pending := t.Status.Plan.Pending
	switch {
	case !merged:
		return decide.Awaited, "waits until the GitRepository " + s.Via + " includes the merge commit", nil
	case t.Status.LastPlanAt == nil || t.Status.LastPlanAt.Before(&a.LastUpdateTime):
		return decide.Awaited, "waits for a plan with the merge commit in the GitRepository " + s.Via, nil
	case pending == "":
		return decide.Done, "", nil
	case t.Status.Plan.Approved || t.Spec.ApprovePlan == pending:
		return decide.Applying, "the plan " + pending + " is approved", nil
	}
	return decide.Unreviewed, "the plan " + pending + " waits for an approval on the server: the stack reads this repository through the GitRepository " + s.Via, nil
}
