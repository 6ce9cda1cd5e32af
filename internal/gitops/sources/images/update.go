// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	"github.com/fluxcd/pkg/apis/acl"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/sources/git"
	"github.com/yuba-dev/yuba/internal/gitops/sources/images/setters"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// updates are those of ImageUpdateAutomations.
func (i *Images) updates() *purpose {
	return &purpose{name: automationv1.ImageUpdateAutomationKind, action: "Update", failed: automationv1.UpdateFailedReason,
		new:  func() object { return &automationv1.ImageUpdateAutomation{} },
		list: func() client.ObjectList { return &automationv1.ImageUpdateAutomationList{} },
		view: func(o object) view {
			a := o.(*automationv1.ImageUpdateAutomation)
			return view{a.Spec.Suspend, a.Spec.Interval.Duration, &a.Status.ObservedGeneration, &a.Status.LastHandledReconcileAt}
		},
		work: func(ctx context.Context, o object, fresh bool) *outcome {
			return i.update(ctx, o.(*automationv1.ImageUpdateAutomation), fresh)
		},
		forget: func(types.NamespacedName) {},
	}
}

func (i *Images) update(ctx context.Context, o *automationv1.ImageUpdateAutomation, fresh bool) *outcome {
	fail := func(err error) *outcome { return &outcome{err: err} }
	source, err := i.source(ctx, o)
	if err != nil {
		return fail(err)
	}
	elected, chosen, err := i.elected(ctx, o)
	if err != nil {
		return fail(err)
	}
	if len(chosen) == 0 {
		return &outcome{ready: "no selected ImagePolicy of this namespace has a latest image", write: func(o object) {
			o.(*automationv1.ImageUpdateAutomation).Status.ObservedPolicies = nil
		}}
	}
	edit, err := editOf(o, source)
	if err != nil {
		return fail(err)
	}
	up, timeout, err := i.repository(ctx, source)
	if err != nil {
		return fail(err)
	}
	if edit.Sign, err = i.signer(ctx, o.Namespace, o.Spec.GitSpec.Commit.SigningKey); err != nil {
		return fail(err)
	}
	if !fresh && upToDate(o, chosen) {
		edit.Seen = commitOf(o.Status.ObservedSourceRevision)
	}
	edit.Author.When = i.now()
	var current *files
	edit.Begin = func() git.Editor {
		current = &files{setters: elected, changes: map[string][]setters.Change{}, left: map[string]string{}, unknown: map[string]bool{},
			message: func(f *files) (string, error) { return messageOf(o, f.changes) }}
		return current
	}
	leave, err := i.hosts.Take(ctx, hostOf(source.Spec.URL, source.Namespace, source.Spec.ProxySecretRef))
	if err != nil {
		return fail(err)
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, 2*timeout) // to fetch, and to push
	defer cancel()
	done, err := i.Git.Edit(ctx, up, edit)
	switch {
	case err != nil:
		return fail(err)
	case done.Unread:
		return &outcome{silent: true}
	}
	return i.updated(done, current, chosen)
}

// updated records an update.
func (i *Images) updated(done *git.Edited, current *files, chosen automationv1.ObservedPolicies) *outcome {
	now := metav1.NewTime(i.now().UTC().Truncate(time.Second))
	out := &outcome{ready: "repository up-to-date" + current.notes(), write: func(o object) {
		s := &o.(*automationv1.ImageUpdateAutomation).Status
		s.LastAutomationRunTime, s.ObservedPolicies, s.ObservedSourceRevision = &now, chosen, done.Base
		if done.Commit != "" {
			s.LastPushCommit, s.LastPushTime, s.ObservedSourceRevision = done.Commit, &now, done.Revision
		}
	}}
	if done.Commit != "" {
		var to []string
		for _, name := range done.Pushed {
			to = append(to, "'"+strings.TrimPrefix(name, "refs/heads/")+"'")
		}
		changed := slices.Sorted(maps.Keys(current.changes))
		more := ""
		if n := len(changed) - maxNamed; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		out.said = append(out.said, said{corev1.EventTypeNormal, meta.SucceededReason, fmt.Sprintf("pushed commit '%s' to %s: %s%s\n%s",
			done.Commit[:7], strings.Join(to, " and "), strings.Join(changed[:min(len(changed), maxNamed)], ", "), more, done.Message)})
	}
	return out
}

// upToDate reports whether the last update had the same spec and images, and succeeded.
func upToDate(o *automationv1.ImageUpdateAutomation, chosen automationv1.ObservedPolicies) bool {
	return o.Status.ObservedGeneration == o.Generation && maps.Equal(o.Status.ObservedPolicies, chosen) && conditions.Of(o, meta.ReadyCondition).Status == metav1.ConditionTrue
}

// commitOf returns the commit of a revision, main@sha1:….
func commitOf(revision string) string { return revision[strings.LastIndex(revision, ":")+1:] }

// source returns the GitRepository, if the automation may use it.
func (i *Images) source(ctx context.Context, o *automationv1.ImageUpdateAutomation) (*sourcev1.GitRepository, error) {
	ref := o.Spec.SourceRef
	key := types.NamespacedName{Namespace: cmp.Or(ref.Namespace, o.Namespace), Name: ref.Name}
	switch {
	case ref.Kind != sourcev1.GitRepositoryKind:
		return nil, upstream.Stalled(automationv1.InvalidSourceConfigReason, nil, "spec.sourceRef.kind %q is not supported; use GitRepository", ref.Kind)
	case o.Spec.GitSpec == nil:
		return nil, upstream.Stalled(automationv1.InvalidSourceConfigReason, nil, "spec.git is required: it says who commits")
	case o.Spec.Update != nil && o.Spec.Update.Strategy != automationv1.UpdateStrategySetters && o.Spec.Update.Strategy != "":
		return nil, upstream.Stalled(automationv1.InvalidUpdateStrategyReason, nil, "spec.update.strategy %q is not supported; use Setters", o.Spec.Update.Strategy)
	case key.Namespace != o.Namespace && !i.AllowCrossNamespace:
		return nil, upstream.Stalled(acl.AccessDeniedReason, nil, "can't access 'GitRepository/%s', cross-namespace references have been blocked; --allow-cross-namespace of the server allows them", key)
	}
	source := &sourcev1.GitRepository{}
	err := i.cache.Get(ctx, key, source)
	if apierrors.IsNotFound(err) {
		return nil, upstream.Failed(automationv1.SourceManagerFailedReason, nil, "the GitRepository %s does not exist. Create it; the update follows by itself", key)
	}
	if err != nil {
		return nil, fmt.Errorf("read the GitRepository %s: %w", key, err)
	}
	return source, nil
}

// elected returns the images of the selected policies.
func (i *Images) elected(ctx context.Context, o *automationv1.ImageUpdateAutomation) (*setters.Setters, automationv1.ObservedPolicies, error) {
	selector := labels.Everything()
	if o.Spec.PolicySelector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(o.Spec.PolicySelector); err != nil {
			return nil, nil, upstream.Stalled(automationv1.InvalidPolicySelectorReason, nil, "spec.policySelector is not valid: %s", err)
		}
	}
	var policies imagev1.ImagePolicyList
	if err := i.cache.List(ctx, &policies, client.InNamespace(o.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, nil, fmt.Errorf("list the ImagePolicies of %s: %w", o.Namespace, err)
	}
	elected, chosen := &setters.Setters{}, automationv1.ObservedPolicies{}
	for _, p := range policies.Items {
		if ref := p.Status.LatestRef; ref != nil {
			if err := elected.Add(p.Namespace, p.Name, setters.Image{Name: ref.Name, Tag: ref.Tag, Digest: ref.Digest}); err != nil {
				return nil, nil, upstream.Failed(automationv1.UpdateFailedReason, nil, "%s", err)
			}
			chosen[p.Name] = automationv1.ImageRef{Name: ref.Name, Tag: ref.Tag, Digest: ref.Digest}
		}
	}
	return elected, chosen, nil
}

// editOf returns what to change and where to push.
func editOf(o *automationv1.ImageUpdateAutomation, source *sourcev1.GitRepository) (git.Edit, error) {
	spec := o.Spec.GitSpec
	ref := source.Spec.Reference
	if spec.Checkout != nil {
		ref = &spec.Checkout.Reference
	}
	e := git.Edit{Wanted: setters.Wanted, MaxFile: maxFile, Author: git.Author{Name: spec.Commit.Author.Name, Email: spec.Commit.Author.Email}}
	if ref != nil {
		e.From = git.Ref{Branch: ref.Branch, Tag: ref.Tag, SemVer: ref.SemVer, Name: ref.Name, Commit: ref.Commit}
		e.Branch = branchOf(*ref)
	}
	if o.Spec.Update != nil {
		e.Path = o.Spec.Update.Path
	}
	if push := spec.Push; push != nil {
		e.Branch, e.Options = cmp.Or(push.Branch, e.Branch), push.Options
		if push.Refspec != "" {
			_, to, ok := strings.Cut(push.Refspec, ":")
			if !ok || !strings.HasPrefix(to, "refs/") || strings.ContainsAny(push.Refspec, "*+^") {
				return e, upstream.Stalled(automationv1.InvalidSourceConfigReason, nil, "spec.git.push.refspec %q is not supported: write it as %s:refs/…, without * and +", push.Refspec, cmp.Or(e.Branch, "main"))
			}
			e.To = to
		}
	}
	if e.Branch == "" {
		return e, upstream.Stalled(automationv1.InvalidSourceConfigReason, nil, "spec.git.push.branch is required: neither spec.git.checkout.ref nor the GitRepository's spec.ref names a branch to push to")
	}
	return e, nil
}

// branchOf returns the branch that a reference names; empty if it is something else.
func branchOf(ref sourcev1.GitRepositoryRef) string {
	switch {
	case ref.Commit != "":
		return ""
	case ref.Name != "":
		branch, is := strings.CutPrefix(ref.Name, "refs/heads/")
		if !is {
			return ""
		}
		return branch
	case ref.Tag != "" || ref.SemVer != "":
		return ""
	}
	return ref.Branch
}
