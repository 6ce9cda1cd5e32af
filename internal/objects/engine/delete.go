// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/ssa"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Removal is what became of objects that were to go.
type Removal struct {
	// Deleted were told to go, Going had been told before and still have finalizers.
	Deleted, Going []Ref
	// Kept are not the owner's, or say that they are not to be pruned; Handed were left to another Kustomization that
	// has them in its build.
	Kept, Handed []Ref
	// Failed could not be deleted.
	Failed []Ref
}

// fate is what became of one.
type fate int

const (
	fateGone fate = iota
	fateDeleted
	fateGoing
	fateKept
	fateHanded
)

// Delete removes objects that an owner has, in the reverse order of applying.
func (e *Engine) Delete(ctx context.Context, c *Cluster, owner Owner, refs []Ref) (*Removal, error) {
	refs = slices.Clone(refs)
	slices.SortStableFunc(refs, func(a, b Ref) int {
		switch s := (ssa.SortableMetas{a.ID, b.ID}); {
		case s.Less(0, 1):
			return 1
		case s.Less(1, 0):
			return -1
		}
		return 0
	})
	r := &Removal{}
	var errs []error
	for start := 0; start < len(refs); {
		// Kinds wait for each other, objects of a kind do not.
		end := start + 1
		for end < len(refs) && refs[end].GroupKind == refs[start].GroupKind {
			end++
		}
		errs = append(errs, e.deleteKind(ctx, c, owner, refs[start:end], r)...)
		start = end
	}
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors], fmt.Errorf("and %d more objects", more))
	}
	return r, errors.Join(errs...)
}

func (e *Engine) deleteKind(ctx context.Context, c *Cluster, owner Owner, refs []Ref, r *Removal) []error {
	g := errgroup.Group{}
	g.SetLimit(c.concurrency())
	fates, errs := make([]fate, len(refs)), make([]error, len(refs))
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
		case fates[i] == fateDeleted:
			r.Deleted = append(r.Deleted, ref)
		case fates[i] == fateGoing:
			r.Going = append(r.Going, ref)
		case fates[i] == fateKept:
			r.Kept = append(r.Kept, ref)
		case fates[i] == fateHanded:
			r.Handed = append(r.Handed, ref)
		}
		e.owners.Freed(e.claims.Release(c.place(ref.ID), owner))
	}
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

func (e *Engine) deleteOne(ctx context.Context, c *Cluster, owner Owner, ref Ref) (fate, error) {
	if mapping, err := c.Mapper.RESTMapping(ref.GroupKind, ref.Version); err == nil && isRoot(mapping) && ref.Namespace != "" {
		// The API would ignore the namespace, and the object of that name would be the one that the build has without.
		return fateKept, nil
	}
	live, err := getMetadata(ctx, c.Client, ref.ID, ref.Version)
	if apierrors.IsForbidden(err) && c.Own != nil {
		if own, lookErr := getMetadata(ctx, c.Own, ref.ID, ref.Version); apierrors.IsNotFound(lookErr) || lookErr == nil && !e.policy.ownedBy(own, owner) {
			return fateGone, nil // it was never applied: who may not even look at an object has not made it
		}
	}
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return fateGone, nil
	case err != nil:
		return fateGone, fmt.Errorf("%s query failed: %w", Name(ref.ID), err)
	}
	if !e.policy.ownedBy(live, owner) || e.policy.stays(live) {
		return fateKept, nil
	}
	if len(e.claims.Heirs(c.place(ref.ID), owner)) > 0 {
		return fateHanded, nil
	}
	if live.DeletionTimestamp != nil {
		return fateGoing, nil
	}
	if err := deleteObject(ctx, c.Client, ref.ID, ref.Version, live.UID); err != nil {
		return fateGone, fmt.Errorf("%s delete failed: %w", Name(ref.ID), err)
	}
	return fateDeleted, nil
}

// Remaining lists which of the objects are still there and an owner's, for who waits for their end.
func (e *Engine) Remaining(ctx context.Context, c *Cluster, owner Owner, refs []Ref) ([]Ref, error) {
	var left []Ref
	for _, ref := range refs {
		live, err := getMetadata(ctx, c.Client, ref.ID, ref.Version)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		case err != nil:
			return nil, fmt.Errorf("%s query failed: %w", Name(ref.ID), err)
		default:
			if e.policy.ownedBy(live, owner) && !e.policy.stays(live) {
				left = append(left, ref)
			}
		}
	}
	return left, nil
}
