// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
	"github.com/yuba-dev/yuba/internal/gateway/parcel"
)

// copied is what has been copied to the target.
type copied struct {
	objects int
	// parcels are the contents of stacks, by NAMESPACE/NAME.
	parcels  map[string]parcel.Summary
	archives int
}

// copy writes everything to the target.
func (m *Mover) copy(ctx context.Context, g *gathered) (*copied, error) {
	c := &copied{parcels: map[string]parcel.Summary{}}
	var stacks []*pair
	for _, s := range g.spaces {
		if s.step == decide.StepResume {
			continue
		}
		list := ordered(s.copying())
		for _, p := range list {
			if err := m.copyObject(ctx, g, p); err != nil {
				return nil, err
			}
			c.objects++
			if p.kind.GK == shape.Stacks.GK {
				stacks = append(stacks, p)
			}
		}
		if len(list) > 0 {
			m.News("Copied %d objects of namespace %s to %s.", len(list), s.name, m.To.Name)
		}
		if err := m.copyArchives(ctx, s, c); err != nil {
			return nil, err
		}
	}
	if err := m.copyContents(ctx, stacks, c); err != nil {
		return nil, err
	}
	return c, m.copyStatuses(ctx, g)
}

// ordered puts objects behind those to whose UIDs they refer.
func ordered(list []*pair) []*pair {
	byUID := map[string]*pair{}
	for _, p := range list {
		byUID[string(p.source.GetUID())] = p
	}
	var sorted []*pair
	seen := map[*pair]bool{}
	var visit func(*pair)
	visit = func(p *pair) {
		if seen[p] {
			return
		}
		seen[p] = true
		for _, uid := range shape.Mentioned(p.source) {
			if of := byUID[uid]; of != nil {
				visit(of)
			}
		}
		sorted = append(sorted, p)
	}
	for _, p := range list {
		visit(p)
	}
	return sorted
}

// copyObject creates or updates one object at the target.
func (m *Mover) copyObject(ctx context.Context, g *gathered, p *pair) error {
	wanted, _ := shape.Wanted(p.kind, p.source, shape.Target{APIVersion: apiVersion(p.kind, p.version), UIDs: g.uids, Mark: m.mark(m.From.Home)})
	for attempt := 1; ; attempt++ {
		live, err := m.To.get(ctx, p.kind, p.version, p.item.Namespace, p.item.Name)
		if err != nil {
			return err
		}
		if live == nil {
			p.target, err = m.To.create(ctx, p.kind, p.version, wanted)
		} else {
			p.target, err = m.overwrite(ctx, p, live, wanted)
		}
		if err == nil {
			break
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) || attempt == attempts {
			return err
		}
	}
	g.uids[string(p.source.GetUID())] = string(p.target.GetUID())
	return m.copyManagers(ctx, p)
}

// overwrite updates an object. It keeps the finalizers, which only the target's controllers set.
func (m *Mover) overwrite(ctx context.Context, p *pair, live, wanted *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if immutable, _, _ := unstructured.NestedBool(live.Object, "immutable"); immutable { //nolint:errcheck // none
		if shape.Covers(p.kind, live, wanted) {
			return live, nil
		}
		return nil, fmt.Errorf("update %s %s/%s at %s: it is immutable. Delete it there", p.kind, p.item.Namespace, p.item.Name, m.To.Name)
	}
	w := wanted.DeepCopy()
	w.SetResourceVersion(live.GetResourceVersion())
	w.SetFinalizers(live.GetFinalizers())
	for _, kept := range []string{"status", "secrets"} { // those of a service account are its tokens
		if value, ok := live.Object[kept]; ok {
			w.Object[kept] = value
		}
	}
	return m.To.update(ctx, p.kind, p.version, w)
}

// copyManagers restores who manages which fields. Otherwise a Kustomization could not remove a field
// that is no longer in its manifest, because this program would own it, too.
func (m *Mover) copyManagers(ctx context.Context, p *pair) error {
	var kept []metav1.ManagedFieldsEntry
	applied := false
	for _, entry := range p.source.GetManagedFields() {
		if entry.Subresource == "" && entry.Manager != Manager {
			applied = applied || entry.Operation == metav1.ManagedFieldsOperationApply
			kept = append(kept, entry)
		}
	}
	if !applied {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"managedFields": kept, "resourceVersion": p.target.GetResourceVersion()}})
	if err != nil {
		return err
	}
	made, err := m.To.patch(ctx, p.kind, p.version, p.item.Namespace, p.item.Name, patch)
	if apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		// A controller has just written it, or the target knows other fields. It works either way.
		return nil
	}
	if err == nil {
		p.target = made
	}
	return err
}

// copyStatuses writes the statuses, last: they refer to objects and content.
func (m *Mover) copyStatuses(ctx context.Context, g *gathered) error {
	for _, s := range g.spaces {
		if s.step == decide.StepResume {
			continue
		}
		for _, p := range s.copying() {
			if err := m.copyStatus(ctx, g, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Mover) copyStatus(ctx context.Context, g *gathered, p *pair) error {
	if !p.kind.Status {
		return nil
	}
	return m.To.retried(ctx, p, func(live *unstructured.Unstructured) error {
		status := shape.Status(p.kind, p.source, live, g.uids)
		if status == nil {
			return nil
		}
		if err := m.To.mayWrite(); err != nil {
			return err
		}
		w := live.DeepCopy()
		w.Object["status"] = status
		made, err := m.To.of(p.kind, p.version, p.item.Namespace).UpdateStatus(ctx, w, metav1.UpdateOptions{FieldManager: Manager})
		if err != nil {
			return fmt.Errorf("write the status of %s %s/%s at %s: %w", p.kind, p.item.Namespace, p.item.Name, m.To.Name, err)
		}
		p.target = made
		return nil
	})
}
