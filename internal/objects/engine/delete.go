// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Removal is the result of a deletion.
type Removal struct {
	Deleted, Going []Ref
	// Failed could not be deleted.
	Failed []Ref
}

// Fate is what became of one object that was to go.
type Fate int

const (
	// Gone: it does not exist.
	Gone Fate = iota
	// Deleted: it was deleted now. Going: it had been deleted before, and has finalizers.
	Deleted
	Going
	// Released: it stays, without an owner.
	Released
	// Kept: it is not the owner's, says that it is not to be pruned, or is left to another owner that
	// waits for it.
	Kept
)

// Remove deletes an object, unless it is being deleted or another one has its name by now. With a
// release it lets the object go instead: the merge patch takes the owner's marks off.
func (e *Engine) Remove(ctx context.Context, c *Cluster, ref Ref, live *metav1.PartialObjectMetadata, release map[string]any) (Fate, error) {
	switch {
	case release != nil:
		u := &metav1.PartialObjectMetadata{}
		u.SetGroupVersionKind(ref.GroupKind.WithVersion(ref.Version))
		u.Namespace, u.Name = ref.Namespace, ref.Name
		return Released, client.IgnoreNotFound(MergePatch(ctx, c.Client, e.policy.Manager, u, release))
	case live.DeletionTimestamp != nil:
		return Going, nil
	}
	return Deleted, c.remove(ctx, ref, live.UID)
}

// Delete removes objects that [Engine.Apply] wrote for an owner, in the reverse order of their
// kinds.
func (e *Engine) Delete(ctx context.Context, c *Cluster, owner Owner, refs []Ref) (*Removal, error) {
	refs = slices.Clone(refs)
	slices.SortStableFunc(refs, func(a, b Ref) int { return inOrder(b.ID, a.ID) })
	r := &Removal{}
	var errs []error
	for start := 0; start < len(refs); {
		// Objects of one kind are deleted together, kinds one after the other.
		end := start + 1
		for end < len(refs) && refs[end].GroupKind == refs[start].GroupKind {
			end++
		}
		errs = append(errs, e.deleteKind(ctx, c, owner, refs[start:end], r)...)
		start = end
	}
	return r, joined(errs, "objects")
}

func (e *Engine) deleteKind(ctx context.Context, c *Cluster, owner Owner, refs []Ref, r *Removal) []error {
	g := errgroup.Group{}
	g.SetLimit(c.concurrency())
	fates, errs := make([]Fate, len(refs)), make([]error, len(refs))
	for i, ref := range refs {
		g.Go(func() error {
			fates[i], errs[i] = e.deleteOne(ctx, c, owner, ref)
			return nil
		})
	}
	_ = g.Wait()
	for i, ref := range refs {
		switch {
		case errs[i] != nil:
			r.Failed = append(r.Failed, ref)
			continue
		case fates[i] == Deleted:
			r.Deleted = append(r.Deleted, ref)
		case fates[i] == Going:
			r.Going = append(r.Going, ref)
		}
		e.owners.Freed(e.claims.Release(c.Place(ref.ID), owner))
	}
	return errs
}

func (e *Engine) deleteOne(ctx context.Context, c *Cluster, owner Owner, ref Ref) (Fate, error) {
	if mapping, err := c.Mapper.RESTMapping(ref.GroupKind, ref.Version); err == nil && isRoot(mapping) && ref.Namespace != "" {
		// The API would ignore the namespace, and delete the object that the batch has without one.
		return Kept, nil
	}
	live, err := c.Metadata(ctx, ref)
	if apierrors.IsForbidden(err) && c.Own != nil {
		if own, lookErr := metadataFrom(ctx, c.Own, ref); apierrors.IsNotFound(lookErr) || lookErr == nil && !e.policy.ownedBy(own, owner) {
			return Gone, nil // it was never applied: without the right to read it nobody has written it
		}
	}
	if isGone(err) {
		return Gone, nil
	}
	if err != nil {
		return Gone, fmt.Errorf("%s query failed: %w", Name(ref.ID), err)
	}
	if !e.policy.ownedBy(live, owner) || e.policy.stays(live) {
		return Kept, nil
	}
	if len(e.claims.Heirs(c.Place(ref.ID), owner)) > 0 {
		return Kept, nil
	}
	fate, err := e.Remove(ctx, c, ref, live, nil)
	if client.IgnoreNotFound(err) != nil {
		return Gone, fmt.Errorf("%s delete failed: %w", Name(ref.ID), err)
	}
	return fate, nil
}

// Remaining lists the objects that still exist and are an owner's.
func (e *Engine) Remaining(ctx context.Context, c *Cluster, owner Owner, refs []Ref) ([]Ref, error) {
	var left []Ref
	for _, ref := range refs {
		live, err := c.Metadata(ctx, ref)
		switch {
		case isGone(err):
		case err != nil:
			return nil, fmt.Errorf("%s query failed: %w", Name(ref.ID), err)
		case e.policy.ownedBy(live, owner) && !e.policy.stays(live):
			left = append(left, ref)
		}
	}
	return left, nil
}

// isGone is also true for objects of a kind that is no longer served.
func isGone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }
