// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// maxNamed limits the places that a reason names.
const maxNamed = 5

// discover finds the stacks that the present head changes, and begins it anew. A failure is shown, and tried again.
func (r *Reconciler) discover(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory, l *link, p *pull) error {
	head := p.Now.Head.Commit
	p.begin(head)
	p.Held, p.Left, p.Problems = "", "", nil
	begun := r.begun(ctx, o, l, p)
	s, problem, err := r.gather(ctx, o, l, p)
	if err := errors.Join(err, begun()); err != nil {
		return err
	}
	if problem != nil {
		r.postpone(p, "the commit cannot be planned", problem)
		return nil
	}
	base, changes := s.base, s.changes
	f := finding{before: base.Tree, after: p.source.Tree, head: p.source.Tree, planner: o, source: l.source, tree: p.source.Source}
	if !changes.Incomplete {
		f.changed = discover.Below(namesOf(changes.Files), base.Tree, p.source.Tree)
		f.after = discover.Merged(base.Tree, p.source.Tree, f.changed)
	}
	p.Stacks = f.programs(s.stacks)
	if err := r.manifests(ctx, p, &f, base); err != nil {
		r.postpone(p, "the manifests cannot be built", err)
		return nil
	}
	more, err := r.included(ctx, m, l, p, f)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // the others are planned all the same
		p.problem("stacks that include this repository are not planned", err.Error()+". Comment /yuba replan to try again")
	}
	f.more = f.more || more
	if err := r.own(l, p, &f, s.owners); err != nil {
		return err
	}
	if f.more {
		p.Problems = append(p.Problems, comment.Problem{Summary: "there are too many stacks", Detail: fmt.Sprintf("The pull request changes more than %d stacks. The others are not planned. Split the pull request", maxChanged)})
	}
	p.Found, p.Base, p.found = true, p.Now.Base.Branch, r.now()
	p.recall()
	if waiting, _ := p.numbers(); waiting == 0 {
		p.release()
	}
	return nil
}

// gathered is what stacks are found in.
type gathered struct {
	stacks  []infrav1.Terraform
	base    *Source
	changes forge.Changes
	owners  ownersFile
}

// gather fetches a head, and asks the forge about it meanwhile. A problem is for people.
func (r *Reconciler) gather(ctx context.Context, o *yubav1.PullRequestPlanner, l *link, p *pull) (s gathered, problem, err error) {
	if s.stacks, err = r.following(ctx, o, l.source); err != nil {
		return s, nil, err
	}
	if s.base, problem = r.Sources.Base(ctx, l.source); problem != nil {
		return s, problem, nil
	}
	number := p.Now.Number
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	changes := aside(func() (forge.Changes, error) {
		return l.forge.ChangedFiles(asking, number, l.forge.Limits().Files)
	})
	owners := r.codeowners(asking, l, p.Now.Base.Branch, s.base.Revision)
	problem = r.hold(ctx, l, p)
	if problem != nil {
		cancel() // nobody needs the changes
	}
	if s.changes, err = changes(); err != nil {
		cancel() // nobody needs the owners
	}
	s.owners = owners() // nothing goes on behind the pass
	var moved *MovedError
	switch {
	case errors.As(problem, &moved):
		return s, nil, problem
	case problem != nil:
		return s, problem, nil
	}
	return s, nil, err
}

// aside runs a function beside the pass, which must wait for what it returns. The function must not touch what the pass knows.
// A panic is an error: nothing else recovers it here, and it would end the server.
func aside[T any](do func() (T, error)) (wait func() (T, error)) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if problem := recover(); problem != nil {
				a.err = fmt.Errorf("ask the forge: panic: %v. This is a bug in Yuba", problem)
			}
			answers <- a
		}()
		a.value, a.err = do()
	}()
	return func() (T, error) {
		a := <-answers
		return a.value, a.err
	}
}

// postpone shows a failure, and tries again later.
func (r *Reconciler) postpone(p *pull, summary string, err error) {
	p.problem(summary, err.Error())
	p.retry = r.now().Add(pause(&p.failures))
}

// finding is what stacks are found in.
type finding struct {
	planner *yubav1.PullRequestPlanner
	// source is the GitRepository that the stacks follow, tree its source with the head. via names it if it only includes
	// the one of the pull request.
	source *sourcev1.GitRepository
	tree   *Source
	via    string
	// after is the base with the changed files of the head. changed is nil if not all are known.
	before, after, head discover.Tree
	changed             []string
	// more says that there are more stacks than maxChanged. kept are the bytes of manifests so far.
	more bool
	kept int
	// stacks are those that were found before.
	stacks int
}

// programs finds the stacks whose program changes.
func (f *finding) programs(stacks []infrav1.Terraform) (out []*stack) {
	found := make([]discover.Stack, 0, len(stacks))
	for i := range stacks {
		found = append(found, readBy(&stacks[i]))
	}
	for _, a := range discover.Stacks(f.before, f.after, found) {
		if f.more = f.stacks+len(out) >= maxChanged; f.more {
			break
		}
		at := slices.IndexFunc(found, func(s discover.Stack) bool { return s.Name == a.Name })
		one := f.admit(found[at], a.Missing)
		one.Files, one.Changed, one.Via = discover.Sum(f.head, found[at]), a.Files, f.via
		one.Never = stacks[at].Spec.PlanOnly || stacks[at].DriftOnly()
		if a.More > 0 {
			one.Changed = f.changed // some too many, rather than some too few
		}
		out = append(out, one)
	}
	return out
}

// namesOf are all paths of changed files, before and after.
func namesOf(files []forge.File) (names []string) {
	for _, f := range files {
		names = append(names, f.Path)
		if f.Before != "" {
			names = append(names, f.Before)
		}
	}
	return names
}

// admit decides whether a stack may be planned with the code of a head.
func (f *finding) admit(s discover.Stack, missing bool) *stack {
	out := &stack{Name: s.Name, Path: s.Path, State: comment.Waiting}
	hold := func(why string, places []string) *stack {
		more := ""
		if n := len(places) - maxNamed; n > 0 {
			places, more = places[:maxNamed], fmt.Sprintf(" and %d more", n)
		}
		out.State, out.Reason, out.Barred = comment.Held, why+": "+strings.Join(places, "; ")+more, true
		return out
	}
	if missing {
		out.State, out.Reason = comment.Failed, "the directory "+s.Path+" is removed, but the stack remains. Remove its manifest, too, or set spec.destroy first"
		return out
	}
	if f.planner.Spec.Programs == yubav1.ProgramsAllow {
		return out
	}
	if places := discover.Programs(f.head, s); len(places) > 0 {
		return hold("it is not planned, as its code names programs that could read credentials (spec.programs of the PullRequestPlanner is Refuse)", places)
	}
	// Who can push a branch is not trusted with the stacks' credentials, either.
	if places := discover.Strangers(f.before, f.head, s); len(places) > 0 {
		return hold("it is not planned, as the pull request adds modules or providers of others (spec.programs of the PullRequestPlanner is Refuse)", places)
	}
	return out
}

// following lists the stacks that follow a GitRepository, in the order of their names.
func (r *Reconciler) following(ctx context.Context, o *yubav1.PullRequestPlanner, source *sourcev1.GitRepository) ([]infrav1.Terraform, error) {
	selector := labels.Everything()
	if o.Spec.StackSelector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(o.Spec.StackSelector); err != nil {
			return nil, &configError{yubav1.ReasonNoSources, "spec.stackSelector cannot be used: " + err.Error()}
		}
	}
	options := []client.ListOption{client.MatchingLabelsSelector{Selector: selector}}
	if !r.AllowCrossNamespace {
		options = append(options, client.InNamespace(source.Namespace))
	}
	var list infrav1.TerraformList
	if err := r.Client.List(ctx, &list, options...); err != nil {
		return nil, fmt.Errorf("list the stacks: %w", err)
	}
	list.Items = slices.DeleteFunc(list.Items, func(t infrav1.Terraform) bool { return !follows(&t, source) || !named(o, &t) })
	slices.SortFunc(list.Items, func(a, b infrav1.Terraform) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return list.Items, nil
}

// labelBranchPlanner is on the copies that tofu-controller's branch planner makes of stacks.
const labelBranchPlanner = "infra.weave.works/branch-planner"

// named reports whether the planner is for a stack.
func named(o *yubav1.PullRequestPlanner, t *infrav1.Terraform) bool {
	return len(o.Spec.Stacks) == 0 || slices.ContainsFunc(o.Spec.Stacks, func(ref yubav1.PullRequestStackReference) bool {
		return cmp.Or(ref.Namespace, o.Namespace) == t.Namespace && (ref.Name == "" || ref.Name == t.Name)
	})
}

// followed lists the GitRepositories of the stacks that a planner names.
func (r *Reconciler) followed(ctx context.Context, o *yubav1.PullRequestPlanner) (out []*sourcev1.GitRepository, err error) {
	known := map[types.NamespacedName]bool{}
	namespaces := map[string]bool{}
	for _, ref := range o.Spec.Stacks {
		namespaces[cmp.Or(ref.Namespace, o.Namespace)] = true
	}
	var problem error
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		if namespace != o.Namespace && !r.AllowCrossNamespace {
			problem = &configError{yubav1.ReasonNoSources, "spec.stacks names the namespace " + namespace + ", but this server allows no references across namespaces (--allow-cross-namespace)"}
			continue
		}
		var list infrav1.TerraformList
		if err := r.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list the stacks of %s: %w", namespace, err)
		}
		for i := range list.Items {
			t := &list.Items[i]
			ref := t.Spec.SourceRef
			if !named(o, t) || ref == nil || ref.Kind != sourcev1.GitRepositoryKind {
				continue
			}
			name := types.NamespacedName{Namespace: t.SourceNamespace(), Name: ref.Name}
			if known[name] || name.Namespace != t.Namespace && !r.AllowCrossNamespace {
				continue
			}
			known[name] = true
			s := &sourcev1.GitRepository{}
			if err := r.Client.Get(ctx, name, s); client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("read GitRepository %s: %w", name, err)
			} else if err == nil {
				out = append(out, s)
			}
		}
	}
	if out, err = r.withIncluded(ctx, out); err != nil {
		return nil, err
	}
	if len(out) == 0 && problem == nil {
		problem = &configError{yubav1.ReasonNoSources, "no stack that spec.stacks names follows a GitRepository"}
	}
	return out, problem
}

// follows reports whether a stack's program is in a GitRepository.
func follows(t *infrav1.Terraform, source *sourcev1.GitRepository) bool {
	_, inline := t.InlineProgram()
	ref := t.Spec.SourceRef
	return t.Labels[labelBranchPlanner] == "" && !inline && ref != nil && ref.Kind == sourcev1.GitRepositoryKind && ref.Name == source.Name && t.SourceNamespace() == source.Namespace && t.DeletionTimestamp.IsZero() && !t.Spec.Suspend
}

// readBy says which part of a source a stack reads.
func readBy(t *infrav1.Terraform) discover.Stack {
	return discover.Stack{Name: t.Namespace + "/" + t.Name, Path: t.Spec.Path, Also: t.Spec.TfVarsFiles}
}
