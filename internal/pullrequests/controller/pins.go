// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// A pin is a GitRepository that has one commit for ever. Stacks that are held for a pull request use it in place of their
// own source, so that everything that knows sources knows what they run.

const (
	// pinEvery is its interval. It never has another commit.
	pinEvery = 24 * time.Hour
	// maxName is the API's limit for a name, pinDigits are those of the commit in it.
	maxName, pinDigits = 253, 12
)

// pinName names the pin of a commit.
func pinName(l *link, commit string) string {
	suffix := "-pull-" + strings.ToLower(commit[:min(len(commit), pinDigits)])
	return strings.TrimRight(l.source.Name[:min(len(l.source.Name), maxName-len(suffix))], "-.") + suffix
}

// pin makes the pin of a commit, unless it exists.
func (r *Reconciler) pin(ctx context.Context, m *memory, l *link, commit string) (*sourcev1.GitRepository, error) {
	pin := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: l.source.Namespace, Name: pinName(l, commit),
		Labels:          map[string]string{infrav1.LabelPullRequest: m.uid},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.GitRepositoryKind, Name: l.source.Name, UID: l.source.UID}}}}
	l.source.Spec.DeepCopyInto(&pin.Spec)
	pin.Spec.Reference, pin.Spec.Interval, pin.Spec.Suspend = &sourcev1.GitRepositoryRef{Commit: commit}, metav1.Duration{Duration: pinEvery}, false
	name := client.ObjectKeyFromObject(pin)
	err := r.Client.Create(ctx, pin)
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return nil, fmt.Errorf("create the GitRepository %s with the commit of a pull request: %w", name, err)
		}
		return pin, nil
	}
	live := &sourcev1.GitRepository{}
	if err := r.Reader.Get(ctx, name, live); err != nil {
		return nil, fmt.Errorf("read the GitRepository %s: %w", name, err)
	}
	if live.Labels[infrav1.LabelPullRequest] != m.uid || live.Spec.URL != l.source.Spec.URL || live.Spec.Reference == nil || live.Spec.Reference.Commit != commit {
		return nil, &blockedError{why: fmt.Sprintf("there is another GitRepository %s, whose name the commit of the pull request needs: delete it", name)}
	}
	return live, nil
}

// pinned reads the pin of a hold, nil if it is gone, or is none: anybody who may annotate a stack can name any
// GitRepository.
func (r *Reconciler) pinned(ctx context.Context, l *link, t *infrav1.Terraform, h *infrav1.PullRequestHold) (*sourcev1.GitRepository, error) {
	pin := &sourcev1.GitRepository{}
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: t.SourceNamespace(), Name: h.Source}, pin)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if pin.Spec.Reference == nil || !h.Made(pin.Labels[infrav1.LabelPullRequest], pin.Spec.URL, pin.Spec.Reference.Commit, l.source.Spec.URL) {
		return nil, nil
	}
	return pin, nil
}

// freeze suspends a pin that has its commit: the branch may be deleted from now on.
func (r *Reconciler) freeze(ctx context.Context, pin *sourcev1.GitRepository) error {
	a := pin.Status.Artifact
	if pin.Spec.Suspend || a == nil || pin.Spec.Reference == nil || !strings.Contains(a.Revision, pin.Spec.Reference.Commit) {
		return nil
	}
	before := pin.DeepCopy()
	pin.Spec.Suspend = true
	return client.IgnoreNotFound(r.Client.Patch(ctx, pin, reconciling.ChangeOf(before)))
}

// unpin removes the pins of a planner that no stack uses any more.
func (r *Reconciler) unpin(ctx context.Context, m *memory) error {
	used := map[types.NamespacedName]bool{}
	for key, held := range m.holds {
		for _, t := range held {
			if h := t.PullRequestHold(); h != nil {
				used[types.NamespacedName{Namespace: t.SourceNamespace(), Name: h.Source}] = true
			}
		}
		if p, l := m.pulls[key], m.links[key.source]; p != nil && l != nil && p.Apply != nil {
			used[types.NamespacedName{Namespace: l.source.Namespace, Name: pinName(l, p.Apply.Commit)}] = true
		}
	}
	var list sourcev1.GitRepositoryList
	if err := r.Client.List(ctx, &list, client.MatchingLabels{infrav1.LabelPullRequest: m.uid}); err != nil {
		return fmt.Errorf("list the GitRepositories of pull requests: %w", err)
	}
	for i := range list.Items {
		// One that was just made may be used by a stack that the cache does not show so.
		if name := client.ObjectKeyFromObject(&list.Items[i]); used[name] || r.now().Sub(list.Items[i].CreationTimestamp.Time) < pinPatience {
			continue
		}
		if err := r.Client.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the GitRepository %s of a pull request: %w", list.Items[i].Name, err)
		}
	}
	return nil
}

// unpinAll removes the pins of planners that are gone. Of a young one, the planner may be younger than what is known.
func (r *Reconciler) unpinAll(ctx context.Context, gone func(uid string) bool) error {
	var list sourcev1.GitRepositoryList
	err := r.Client.List(ctx, &list, client.HasLabels{infrav1.LabelPullRequest})
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the GitRepositories of pull requests: %w", err)
	}
	for i := range list.Items {
		if !gone(list.Items[i].Labels[infrav1.LabelPullRequest]) || r.now().Sub(list.Items[i].CreationTimestamp.Time) < pinPatience {
			continue
		}
		if err := r.Client.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the GitRepository %s of a pull request: %w", list.Items[i].Name, err)
		}
	}
	return nil
}

// pinPatience is how long a pin may be unused.
const pinPatience = time.Minute
