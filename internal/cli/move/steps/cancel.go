// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// Cancel resumes everything at the source, unless the target may work on it already. What has
// arrived there stays, suspended, as copies of no consequence.
func (m *Mover) Cancel(ctx context.Context) (int, error) {
	defer m.release()
	// Nothing changes unless all namespaces can be canceled.
	if _, err := m.cancelable(ctx); err != nil {
		return 0, err
	}
	ctx, err := m.claim(ctx, m.Namespaces)
	if err != nil {
		return 0, err
	}
	records, err := m.cancelable(ctx)
	if err != nil {
		return 0, m.explain(err)
	}
	// The record comes first: a move that lost its Lease cannot record anything after that.
	for _, namespace := range m.Namespaces {
		r := records[namespace]
		r.Phase, r.Claim = decide.PhaseCanceled, m.claimed.id
		if err := m.To.writeRecord(ctx, namespace, r); err != nil {
			return 0, m.explain(err)
		}
	}
	n := 0
	for _, namespace := range m.Namespaces {
		done, err := m.cancelIn(ctx, namespace, records[namespace].Move)
		n += done
		if err != nil {
			return n, m.explain(err)
		}
	}
	return n, nil
}

// cancelable returns the target's records of the moves to cancel.
func (m *Mover) cancelable(ctx context.Context) (map[string]*record, error) {
	records := map[string]*record{}
	for _, namespace := range m.Namespaces {
		there, err := m.To.readRecord(ctx, namespace)
		if err != nil {
			return nil, err
		}
		here, err := m.From.readRecord(ctx, namespace)
		if err != nil {
			return nil, err
		}
		if why := decide.NotCancelable(m.From.Home, m.To.Home, here.facts(), there.facts()); why != "" {
			return nil, fmt.Errorf("cancel the move of namespace %s from %s to %s: %s", namespace, m.From.Name, m.To.Name, why)
		}
		records[namespace] = there
	}
	return records, nil
}

func (m *Mover) cancelIn(ctx context.Context, namespace, move string) (int, error) {
	m.id = move
	// The copies first: they must never work beside the originals.
	if _, err := m.eachActive(ctx, m.To, namespace, m.abandon); err != nil {
		return 0, err
	}
	n, err := m.eachActive(ctx, m.From, namespace, m.releaseOne)
	if err != nil {
		return n, err
	}
	return n, m.forgetIn(ctx, namespace)
}

// eachActive calls do for the active objects of a namespace, and counts those that it changed.
func (m *Mover) eachActive(ctx context.Context, side *Side, namespace string, do func(context.Context, shape.Kind, string, *unstructured.Unstructured) (bool, error)) (int, error) {
	n := 0
	for _, k := range m.From.kinds() {
		v := version(k, m.From, m.To)
		if !k.Active || v == "" {
			continue
		}
		list, err := side.list(ctx, k, v, namespace)
		if err != nil {
			return n, err
		}
		for i := range list {
			changed, err := do(ctx, k, v, &list[i])
			if err != nil {
				return n, err
			}
			if changed {
				n++
			}
		}
	}
	return n, nil
}

// abandon turns the mark of an object that arrived at the target into that of a copy.
func (m *Mover) abandon(ctx context.Context, k shape.Kind, v string, o *unstructured.Unstructured) (bool, error) {
	mark, ok := moving.ArrivingFrom(o)
	if !ok || mark.Move != m.id {
		return false, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": o.GetResourceVersion(),
		"annotations": map[string]any{moving.AnnotationArriving: nil, moving.AnnotationMoved: mark.Text()}}})
	if err != nil {
		return false, err
	}
	_, err = m.To.patch(ctx, k, v, o.GetNamespace(), o.GetName(), patch)
	return true, err
}

// releaseOne resumes an object at the source.
func (m *Mover) releaseOne(ctx context.Context, k shape.Kind, v string, o *unstructured.Unstructured) (bool, error) {
	mark, ok := moving.MovedTo(o)
	if !ok || mark.Move != m.id {
		return false, nil
	}
	_, err := m.From.patch(ctx, k, v, o.GetNamespace(), o.GetName(), shape.Release(moving.AnnotationMoved, o, mark))
	return true, err
}

// forgetIn removes the move from the source's record. The target's stays: the next move continues
// with what has arrived.
func (m *Mover) forgetIn(ctx context.Context, namespace string) error {
	here, err := m.From.readRecord(ctx, namespace)
	if err != nil || here.Move != m.id {
		return err
	}
	maps.DeleteFunc(here.Objects, func(_ string, e entry) bool { return e.Move == m.id })
	if len(here.Objects) > 0 {
		here.Phase = decide.PhaseDone
		return m.From.writeRecord(ctx, namespace, here)
	}
	err = m.From.of(shape.ConfigMaps, "v1", namespace).Delete(ctx, shape.RecordName, metav1.DeleteOptions{})
	if err != nil {
		return fmt.Errorf("delete ConfigMap %s/%s at %s: %w", namespace, shape.RecordName, m.From.Name, err)
	}
	return nil
}

// Namespaces returns the namespaces with objects that Yuba or Flux work on, without those of the
// homes themselves.
func (s *Side) Namespaces(ctx context.Context) ([]string, error) {
	found := map[string]bool{}
	for _, k := range s.kinds() {
		if len(s.served[k.GK]) == 0 || k.GK.Group == "" || k.GK.Group == "rbac.authorization.k8s.io" {
			continue
		}
		list, err := s.list(ctx, k, s.served[k.GK][0], metav1.NamespaceAll)
		if err != nil {
			return nil, err
		}
		for i := range list {
			found[list[i].GetNamespace()] = true
		}
	}
	for _, system := range []string{metav1.NamespaceSystem, metav1.NamespacePublic, "kube-node-lease", "yuba-system"} {
		delete(found, system)
	}
	return sortedKeys(found), nil
}

func sortedKeys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
