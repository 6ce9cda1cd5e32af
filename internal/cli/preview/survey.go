// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/preview/worktree"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

// surveyView is the answer of a survey, as in -o json.
type surveyView struct {
	// Target is the branch that the change will be merged to. Commit is what was planned; empty for the
	// working tree.
	Target string `json:"target,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Partial is set if only the objects of one namespace could be listed.
	Partial bool `json:"partial,omitempty"`
	// Stacks are the plans, by name. Unchanged counts the stacks that nothing in the change reaches.
	Stacks    []surveyed `json:"stacks"`
	Unchanged int        `json:"unchanged"`
	// Skipped follow the repository and are not planned, Kustomizations make objects of files that
	// differ.
	Skipped        []skipped `json:"skipped,omitempty"`
	Kustomizations []string  `json:"kustomizations,omitempty"`
	Reached        []reached `json:"reached,omitempty"`
}

// surveyed is the plan of a stack, and what it was planned for.
type surveyed struct {
	content.Try `json:",inline"`
	// Path is the root module's directory in the repository.
	Path string `json:"path"`
	// Files are some of the files that differ, More counts the others. Whole is why any file counts.
	Files []string `json:"files"`
	More  int      `json:"more,omitempty"`
	Whole string   `json:"whole,omitempty"`
	// Text is the plan for people; empty unless it is asked for.
	Text string `json:"text,omitempty"`
}

// world is what the API has.
type world struct {
	repositories   []sourcev1.GitRepository
	stacks         []infrav1.Terraform
	kustomizations []kustomizev1.Kustomization
	partial        bool
}

// surveyor makes a survey.
type surveyor struct {
	*options
	session *session.Session
	clone   *worktree.Repository
	view    *surveyView
	// sources are made once for each spec.ignore, and before also for each commit.
	sources map[string]*worktree.Source
	// texts asks for the plans for people.
	texts bool
}

// survey plans all stacks that the working tree changes, and shows them.
func (o *options) survey(ctx context.Context, s *session.Session) (worst, error) {
	v, failed := o.look(ctx, s, false)
	if failed != nil && (v == nil || len(v.Stacks) == 0) {
		return worst{}, failed
	}
	// An interrupted survey shows what it has.
	var err error
	if o.out.Machine() {
		err = o.out.Print(s.Out, v)
	} else {
		err = v.show(s, o.out)
	}
	return v.worst(), errors.Join(failed, err)
}

// look makes a survey.
func (o *options) look(ctx context.Context, s *session.Session, texts bool) (_ *surveyView, err error) {
	clone, err := worktree.Open(ctx, o.dir)
	if err != nil {
		var none *worktree.NoRepositoryError
		if errors.As(err, &none) {
			return nil, fmt.Errorf("%w\nName a stack to plan with this directory:\n    yuba preview %s --stack NAME", err, o.dir)
		}
		return nil, err
	}
	v := &surveyor{options: o, session: s, clone: clone, sources: map[string]*worktree.Source{}, texts: texts,
		view: &surveyView{Commit: o.commit, Stacks: []surveyed{}}}
	defer func() {
		for _, source := range v.sources {
			err = errors.Join(err, source.Close())
		}
	}()
	w, err := readWorld(ctx, s)
	if err != nil {
		return nil, err
	}
	v.view.Partial = w.partial
	return v.view, v.run(ctx, w)
}

// run finds the stacks, plans them, and finds out what follows.
func (v *surveyor) run(ctx context.Context, w *world) error {
	addresses := v.clone.Addresses(ctx)
	clone := ofClone(addresses, w.repositories)
	if len(clone) == 0 {
		return ui.Exitf(ui.ExitNotFound, "no GitRepository has an address of this clone: %s. List the GitRepositories:\n    yuba get sources git -A", strings.Join(addresses, ", "))
	}
	target, err := chooseTarget(v.target, cmp.Or(v.pushed, v.clone.Branch(ctx)), v.clone.DefaultBranch(ctx), clone)
	if err != nil {
		return err
	}
	v.view.Target = target
	list, skips := follow(target, clone, w.repositories, w.stacks)
	v.view.Skipped = skips
	var work []job
	for _, f := range list {
		jobs, err := v.affected(ctx, f, w)
		if err != nil {
			return err
		}
		work = append(work, jobs...)
	}
	if len(work) > 0 {
		v.session.News("Planning %s. Nothing is applied.", ui.Count(len(work), "stack"))
		v.plan(ctx, work)
	}
	if v.impact {
		v.view.Reached = reachedBy(w.stacks, v.view.Stacks)
	}
	if ctx.Err() != nil {
		return ui.Exitf(ui.ExitInterrupted, "interrupted after %d of %s", len(v.view.Stacks), ui.Count(len(work), "plan"))
	}
	return nil
}

// job is a stack to plan.
type job struct {
	stack  discover.Affected
	obj    *infrav1.Terraform
	source *worktree.Source
}

// affected finds the stacks of a GitRepository that the change can change.
func (v *surveyor) affected(ctx context.Context, f *followed, w *world) ([]job, error) {
	name := f.repository.Namespace + "/" + f.repository.Name
	ignore := ""
	if f.repository.Spec.Ignore != nil {
		ignore = *f.repository.Spec.Ignore
	}
	after, err := v.after(ctx, ignore)
	if err != nil {
		return nil, err
	}
	before, err := v.before(ctx, f, ignore)
	if err != nil {
		return nil, fmt.Errorf("compare with the revision %s of GitRepository %s: %w", f.revision, name, err)
	}
	wholeIfTemplated(f.stacks, before.Tree, after.Tree)
	affected := discover.Stacks(before.Tree, after.Tree, f.stacks)
	v.view.Unchanged += len(f.stacks) - len(affected)
	v.view.Kustomizations = append(v.view.Kustomizations, kustomizationsOf(f.repository, w.kustomizations, discover.Changed(before.Tree, after.Tree))...)
	var jobs []job
	for _, a := range affected {
		jobs = append(jobs, job{a, f.byName[a.Name], after})
	}
	return jobs, nil
}

// after is the tree that is planned.
func (v *surveyor) after(ctx context.Context, ignore string) (*worktree.Source, error) {
	if v.commit != "" {
		return v.source("commit "+v.commit+ignore, func() (*worktree.Source, error) { return v.clone.Commit(ctx, v.commit, ignore) })
	}
	return v.source("tree "+ignore, func() (*worktree.Source, error) { return v.clone.WorkingTree(ctx, ignore) })
}

// before is what the stacks have: the base that was given, else the revision of the GitRepository.
func (v *surveyor) before(ctx context.Context, f *followed, ignore string) (*worktree.Source, error) {
	commit := cmp.Or(v.base, f.commit)
	if v.clone.Has(ctx, commit) {
		if v.clone.Has(ctx, f.commit) && !v.clone.Contains(ctx, cmp.Or(v.commit, "HEAD"), f.commit) {
			v.session.News("Warning: what is planned does not contain %s, which %s/%s has: the plans undo its changes. Merge or rebase first.",
				f.revision, f.repository.Namespace, f.repository.Name)
		}
		return v.source("commit "+commit+ignore, func() (*worktree.Source, error) { return v.clone.Commit(ctx, commit, ignore) })
	}
	// The clone is behind, or shallow: the server has the content.
	return v.source("artifact "+f.repository.Namespace+"/"+f.repository.Name, func() (*worktree.Source, error) {
		v.session.News("This clone does not have the commit %s, so its content is fetched from the server.", f.commit)
		packed, err := v.session.Content.Archive(ctx, session.GitRepositories.Plural, f.repository.Namespace, f.repository.Name)
		if err != nil {
			return nil, err
		}
		defer packed.Close() //nolint:errcheck // read only
		return worktree.Stored(ctx, packed)
	})
}

func (v *surveyor) source(key string, make func() (*worktree.Source, error)) (*worktree.Source, error) {
	if known := v.sources[key]; known != nil {
		return known, nil
	}
	made, err := make()
	if err == nil {
		v.sources[key] = made
	}
	return made, err
}

// kustomizationsOf are the Kustomizations that make objects of files that differ.
func kustomizationsOf(r *sourcev1.GitRepository, all []kustomizev1.Kustomization, changed []string) (names []string) {
	for i := range all {
		k := &all[i]
		from := k.Spec.SourceRef
		if from.Kind != session.GitRepositories.GVK.Kind || from.Name != r.Name || cmp.Or(from.Namespace, k.Namespace) != r.Namespace {
			continue
		}
		dir := strings.TrimPrefix(path.Join("/", k.Spec.Path), "/")
		if slices.ContainsFunc(changed, func(name string) bool { return dir == "" || strings.HasPrefix(name, dir+"/") }) {
			names = append(names, k.Namespace+"/"+k.Name)
		}
	}
	return names
}

// readWorld lists what the user may list: everything, else the objects of the namespace.
func readWorld(ctx context.Context, s *session.Session) (*world, error) {
	w := &world{}
	namespace := s.NamespaceFlag()
	err := w.read(ctx, s, namespace)
	if namespace == "" && apierrors.IsForbidden(err) {
		w = &world{partial: true}
		err = w.read(ctx, s, s.Namespace)
	}
	return w, err
}

func (w *world) read(ctx context.Context, s *session.Session, namespace string) error {
	var list infrav1.TerraformList
	if err := s.Objects.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list stacks: %w", err)
	}
	w.stacks = list.Items
	var err error
	if w.repositories, err = session.ListAs[sourcev1.GitRepository](ctx, s, session.GitRepositories, namespace); err != nil {
		return err
	}
	w.kustomizations, err = session.ListAs[kustomizev1.Kustomization](ctx, s, session.Kustomizations, namespace)
	if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil // they are only named
	}
	return err
}

// worst is the worst of the plans.
func (v *surveyView) worst() worst {
	var all []content.Try
	for i := range v.Stacks {
		all = append(all, v.Stacks[i].Try)
	}
	return worstOf(all)
}

func worstOf(all []content.Try) (w worst) {
	for i := range all {
		t := &all[i]
		switch result := t.Result(); {
		case t.Policy.Refused():
			w.refused++
		case result == speculative.ResultFailed, result == speculative.ResultCanceled:
			w.failed++
		case result == speculative.ResultUnknown:
			w.unknown++
		case result == speculative.ResultChanges:
			w.changed++
		}
	}
	return w
}
