// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/dependson"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decide"
	"github.com/yuba-dev/yuba/internal/objects/engine"
)

func dependencyOf(obj *kustomizev1.Kustomization, d kustomizev1.DependencyReference) engine.Owner {
	return engine.Owner{Namespace: cmp.Or(d.Namespace, obj.Namespace), Name: d.Name}
}

// gatherDependencies reads the Kustomization's dependencies.
func (r *Reconciler) gatherDependencies(ctx context.Context, p *pass) error {
	for _, ref := range p.obj.Spec.DependsOn {
		d, err := r.dependency(ctx, p, ref)
		if err != nil {
			return err
		}
		p.facts.Dependencies = append(p.facts.Dependencies, d)
	}
	if len(p.obj.Spec.DependsOn) == 0 {
		return nil
	}
	var err error
	p.facts.Cycle, err = r.cycle(ctx, p.owner)
	return err
}

// fromCache reads a Kustomization, which must not be changed; nil if it does not exist.
func (r *Reconciler) fromCache(ctx context.Context, name engine.Owner) (*kustomizev1.Kustomization, error) {
	obj := &kustomizev1.Kustomization{}
	err := r.cached.Get(ctx, name, obj, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Kustomization %s: %w", name, err)
	}
	return obj, nil
}

func (r *Reconciler) dependency(ctx context.Context, p *pass, ref kustomizev1.DependencyReference) (decide.Dependency, error) {
	name := dependencyOf(p.obj, ref)
	d := decide.Dependency{Name: name.String(), ByExpression: ref.ReadyExpr != ""}
	if name.Namespace != p.obj.Namespace && !r.AllowCrossNamespace {
		d.Denied = true
		return d, nil
	}
	ready, err := dependson.NewReady(ref.ReadyExpr)
	if err != nil {
		d.Invalid = fmt.Sprintf("Reconciliation failed terminally due to configuration error: failed to evaluate dependency %s: %v", ref.Name, err)
		return d, nil
	}
	obj, err := r.fromCache(ctx, name)
	if d.Missing = obj == nil; err != nil || d.Missing {
		return d, err
	}
	if ready != nil {
		if d.Ready, err = ready.Holds(ctx, p.obj, obj); err != nil {
			d.Failure = err.Error()
		}
		return d, nil
	}
	d.Ready = obj.Status.ObservedGeneration == obj.Generation && isReady(obj)
	d.SameSource = obj.Spec.SourceRef.Kind == p.obj.Spec.SourceRef.Kind && sourceName(obj) == sourceName(p.obj)
	d.SameRevision = obj.Status.LastAppliedRevision == p.artifact.revision
	return d, nil
}

// cycle returns the shortest cycle of dependencies with a Kustomization; nil if there is none.
func (r *Reconciler) cycle(ctx context.Context, own engine.Owner) ([]string, error) {
	return dependson.Cycle(own, func(name engine.Owner) ([]engine.Owner, error) {
		obj, err := r.fromCache(ctx, name)
		if obj == nil || err != nil {
			return nil, err
		}
		next := make([]engine.Owner, 0, len(obj.Spec.DependsOn))
		for _, ref := range obj.Spec.DependsOn {
			next = append(next, dependencyOf(obj, ref))
		}
		return next, nil
	})
}
