// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/fluxcd/pkg/ssa"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/objects/claims"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// item is one object of a batch.
type item struct {
	manifest *unstructured.Unstructured
	id       ID
	digest   [sha256.Size]byte
	// left is its last known outcome; live its metadata in the watch.
	left *Applied
	live *metav1.PartialObjectMetadata
	// tried is the answer to the dry run; existed whether the object existed then.
	tried   *unstructured.Unstructured
	existed bool
	// absent is true if it is known not to exist, without a dry run.
	absent bool
	// thorough asks for Flux's library, which takes over kubectl's fields and honours ignored ones.
	thorough bool
	// installed is true when it was skipped because the server itself installed it.
	installed bool
	// action is what was done; empty until then.
	action ssa.Action
	// maybe is true if a write failed that the API may have carried out nevertheless.
	maybe  bool
	result *unstructured.Unstructured
	print  Print
}

func (it *item) ref() Ref { return refOf(it.manifest) }

func (it *item) outcome() Outcome {
	return Outcome{
		Ref:     it.ref(),
		Applied: Applied{Digest: it.digest, Print: it.print, Skipped: it.action == ssa.SkippedAction},
		Action:  it.action, Live: it.result, Installed: it.installed,
	}
}

// classify decides what to do with an object; it returns nil if another owner has it.
func (s *stage) classify(ctx context.Context, u *unstructured.Unstructured) (*item, error) {
	if err := s.scope(u); err != nil {
		return nil, err
	}
	it := &item{manifest: u, id: owned.IDOf(u)}
	var err error
	if it.digest, err = owned.Digest(u); err != nil {
		return nil, err
	}
	if left, ok := s.req.Known[it.id]; ok {
		it.left = &left
	}
	if s.policy().excluded(u) {
		it.action = ssa.SkippedAction
		return it, nil
	}
	if s.isAsLeft(it) {
		it.action, it.print = ssa.UnchangedAction, it.left.Print
		if it.left.Skipped {
			it.action = ssa.SkippedAction
		}
		return it, nil
	}
	if err := s.look(ctx, it); err != nil {
		return nil, err
	}
	if it.live != nil && s.policy().excluded(it.live) {
		it.action, it.print = ssa.SkippedAction, PrintOf(it.live)
		return it, nil
	}
	holder, err := s.holder(ctx, it)
	if err != nil {
		return nil, err
	}
	if holder != nil {
		s.report.Conflicts = append(s.report.Conflicts, Conflict{ID: it.id, Holder: *holder})
		return nil, nil
	}
	it.thorough = s.cluster.Watch == nil || len(s.req.Ignore) > 0
	return it, nil
}

// scope clears the namespace of cluster-scoped objects, and refuses others without one.
func (s *stage) scope(u *unstructured.Unstructured) error {
	gvk := u.GroupVersionKind()
	mapping, err := s.cluster.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return fmt.Errorf("%s: %w", Name(owned.IDOf(u)), err)
	}
	if isRoot(mapping) {
		u.SetNamespace("")
		return nil
	}
	if u.GetNamespace() == "" {
		return fmt.Errorf("%s namespace not specified: set its metadata.namespace or %s of the %s", Name(owned.IDOf(u)), s.policy().Namespace, s.policy().Kind)
	}
	return nil
}

func (s *stage) isAsLeft(it *item) bool {
	if s.req.Full || it.left == nil || it.left.Digest != it.digest || s.cluster.Watch == nil {
		return false
	}
	// Skipped objects without our label are not watched.
	if it.left.Skipped && it.left.Print.UID == "" {
		return true
	}
	return s.cluster.Watch.AsLeft(it.id, it.left.Print)
}

// look finds the object's metadata: in the watch, which has all owned objects, or in the cluster.
func (s *stage) look(ctx context.Context, it *item) error {
	if s.cluster.Watch != nil {
		it.live, _ = s.cluster.Watch.Get(it.id)
		return nil
	}
	live, err := s.cluster.Metadata(ctx, it.ref())
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("%s query failed: %w", Name(it.id), err)
	}
	it.live = live
	return nil
}

// holder claims the object. It returns its holder when another owner has it.
func (s *stage) holder(ctx context.Context, it *item) (*Owner, error) {
	owners := s.engine.owners
	var labelled *Owner
	if it.live != nil {
		// On a remote cluster the labelled owner may exist there; we cannot check.
		if o, ok := s.policy().OwnerOf(it.live); ok && o != s.req.Owner && (s.cluster.Key != "" || owners.Exists(o) && s.engine.inventory.Counts(o, it.id)) {
			labelled = &o
		}
	}
	at := s.cluster.Place(it.id)
	if labelled != nil {
		if err := s.mayWrite(ctx, it); err != nil {
			return nil, err
		}
	}
	holder := s.engine.claims.Take(at, s.req.Owner, claims.Bid{Labelled: labelled, Force: s.force(it), Exists: owners.Exists})
	if holder != nil && labelled == nil {
		if err := s.mayWrite(ctx, it); err != nil {
			s.engine.claims.Release(at, s.req.Owner)
			return nil, err
		}
	}
	return holder, nil
}

// mayWrite asks the API whether the owner may write another owner's object. Without that right it
// must not wait for the object, because the holder would not prune it then.
func (s *stage) mayWrite(ctx context.Context, it *item) error {
	if err := s.send(ctx, it.manifest.DeepCopy(), client.DryRunAll); apierrors.IsForbidden(err) {
		return refused(it, "dry-run failed", err)
	}
	return nil
}

func (s *stage) forced(it *item) bool {
	return s.req.Force || says(it.manifest, s.policy().keyForce(), valueEnabled)
}

func (s *stage) force(it *item) claims.Force {
	if s.forced(it) {
		return claims.Once
	}
	return claims.Never
}

// try is the dry run.
func (s *stage) try(ctx context.Context, it *item) error {
	if err := s.keepApproval(ctx, it); err != nil {
		return err
	}
	if it.absent {
		it.tried = &unstructured.Unstructured{}
		return nil
	}
	it.tried = it.manifest.DeepCopy()
	err := s.send(ctx, it.tried, client.DryRunAll)
	it.existed = it.live != nil
	if err != nil && s.recreatable(ctx, it, err) {
		live, lookErr := s.cluster.Metadata(ctx, it.ref())
		if lookErr == nil && s.policy().excluded(live) {
			it.action, it.existed, it.installed, it.print = ssa.SkippedAction, true, installed(live), PrintOf(live)
			return nil
		}
		if err = s.remove(ctx, it); err == nil {
			it.tried, it.live, it.existed = it.manifest.DeepCopy(), nil, false
			err = s.send(ctx, it.tried, client.DryRunAll)
		}
	}
	if err != nil {
		return refused(it, "dry-run failed", err)
	}
	it.existed = it.tried.GetResourceVersion() != ""
	switch {
	case it.existed && s.policy().excluded(it.tried), it.existed && says(it.manifest, s.policy().keySSA(), valueIfNotPresent):
		it.action, it.installed = ssa.SkippedAction, installed(it.tried)
		if it.live != nil {
			it.print = PrintOf(it.live)
		}
	case it.existed && s.noChange(it):
		it.action, it.print = ssa.UnchangedAction, PrintOf(it.live)
		it.result = it.tried
	case it.existed && s.policy().needsCleanup(it):
		it.thorough = true
	}
	return nil
}

func (s *stage) send(ctx context.Context, u *unstructured.Unstructured, options ...client.PatchOption) error {
	options = append(options, client.ForceOwnership, client.FieldOwner(s.policy().Manager))
	return s.cluster.apply(ctx, u, options...)
}

// noChange reports whether an apply would change nothing, which a dry run shows only for kinds with
// generations.
func (s *stage) noChange(it *item) bool {
	return it.live != nil && !it.thorough && it.tried.GetGeneration() > 0 && it.live.GetResourceVersion() == it.tried.GetResourceVersion() &&
		it.live.GetGeneration() == it.tried.GetGeneration() && owned.Marks(it.live) == owned.Marks(it.tried) && !s.policy().needsCleanup(it)
}

// kubectl begins the names of kubectl's field managers.
const kubectl = "kubectl"

// takenOver are the field managers whose fields become ours, as with Flux: fields that only they
// set are removed.
func (p *Policy) takenOver() []ssa.FieldManager {
	return []ssa.FieldManager{
		{Name: kubectl, OperationType: metav1.ManagedFieldsOperationApply},
		{Name: kubectl, OperationType: metav1.ManagedFieldsOperationUpdate},
		{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
		{Name: p.Manager, OperationType: metav1.ManagedFieldsOperationUpdate},
	}
}

// needsCleanup reports whether kubectl or an old Flux has left fields or annotations on the object.
func (p *Policy) needsCleanup(it *item) bool {
	if says(it.manifest, p.keySSA(), valueMerge) || says(it.tried, p.keySSA(), valueMerge) {
		return false
	}
	for _, m := range it.tried.GetManagedFields() {
		for _, t := range p.takenOver() {
			if m.Subresource == "" && m.Operation == t.OperationType && strings.HasPrefix(m.Manager, t.Name) {
				return true
			}
		}
	}
	_, annotated := it.tried.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	return annotated
}

// change applies the object.
func (s *stage) change(ctx context.Context, it *item) error {
	if it.thorough {
		return s.changeThoroughly(ctx, it)
	}
	before := it.tried.GetResourceVersion()
	it.result = it.manifest.DeepCopy()
	if err := s.send(ctx, it.result); err != nil {
		it.result, it.maybe = nil, !definite(err)
		return refused(it, "apply failed", err)
	}
	it.print = PrintOf(it.result)
	switch it.result.GetResourceVersion() {
	case before:
		it.action = ssa.UnchangedAction
	default:
		it.action = ssa.ConfiguredAction
	}
	if before == "" {
		it.action = ssa.CreatedAction
	}
	return nil
}

// changeThoroughly applies the object with Flux's library.
func (s *stage) changeThoroughly(ctx context.Context, it *item) error {
	p := s.policy()
	m := ssa.NewResourceManager(s.cluster.Client, nil, ssa.Owner{Field: p.Manager, Group: p.Group})
	o := ssa.DefaultApplyOptions()
	o.DriftIgnoreRules = s.req.Ignore
	o.Cleanup = ssa.ApplyCleanupOptions{
		Annotations:   []string{corev1.LastAppliedConfigAnnotation, p.Group + "/checksum", "fluxcd.io/sync-checksum"},
		Labels:        []string{"fluxcd.io/sync-gc-mark"},
		FieldManagers: p.takenOver(), Exclusions: map[string]string{p.keySSA(): valueMerge},
	}
	o.ExclusionSelector = map[string]string{p.keyReconcile(): valueDisabled, p.keySSA(): valueIgnore}
	o.IfNotPresentSelector = map[string]string{p.keySSA(): valueIfNotPresent}
	entry, err := m.Apply(ctx, it.manifest, o)
	if err != nil {
		it.maybe = !definite(err)
		return refused(it, "apply failed", err)
	}
	it.action = entry.Action
	if s.cluster.Watch == nil {
		return nil
	}
	live, err := s.cluster.Metadata(ctx, it.ref())
	if err != nil {
		return fmt.Errorf("%s query failed: %w", Name(it.id), err)
	}
	it.print = PrintOf(live)
	return nil
}
