// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/dependson"
	"github.com/yuba-dev/yuba/internal/gitops/releases/decide"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

func dependencyOf(obj *helmv2.HelmRelease, d helmv2.DependencyReference) types.NamespacedName {
	return nameOf(cmp.Or(d.Namespace, obj.Namespace), d.Name)
}

// gatherDependencies reads the HelmReleases of spec.dependsOn.
func (r *Reconciler) gatherDependencies(ctx context.Context, p *pass) error {
	for _, ref := range p.obj.Spec.DependsOn {
		d, err := r.dependency(ctx, p.obj, ref)
		if err != nil {
			return err
		}
		p.facts.Dependencies = append(p.facts.Dependencies, d)
	}
	if len(p.obj.Spec.DependsOn) == 0 {
		return nil
	}
	var err error
	p.facts.Cycle, err = r.cycle(ctx, p.name)
	return err
}

func (r *Reconciler) dependency(ctx context.Context, obj *helmv2.HelmRelease, ref helmv2.DependencyReference) (decide.Dependency, error) {
	name := dependencyOf(obj, ref)
	d := decide.Dependency{Name: name.String()}
	if name.Namespace != obj.Namespace && !r.AllowCrossNamespace {
		d.Denied = true
		return d, nil
	}
	ready, err := dependson.NewReady(ref.ReadyExpr)
	if err != nil {
		d.Invalid = fmt.Sprintf("the expression readyExpr of the dependency %s is invalid: %v", ref.Name, err)
		return d, nil
	}
	dep, err := r.other(ctx, name)
	if d.Missing = dep == nil; err != nil || d.Missing {
		return d, err
	}
	if ready != nil {
		if d.Ready, err = ready.Holds(ctx, obj, dep); err != nil {
			d.Failure = err.Error()
		}
		return d, nil
	}
	d.Ready = dep.Status.ObservedGeneration == dep.Generation && conditions.Of(dep, meta.ReadyCondition).Status == metav1.ConditionTrue
	return d, nil
}

// other reads another HelmRelease from the cache; nil if there is none.
func (r *Reconciler) other(ctx context.Context, name types.NamespacedName) (*helmv2.HelmRelease, error) {
	obj := &helmv2.HelmRelease{}
	err := r.cached.Get(ctx, name, obj, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read HelmRelease %s: %w", name, err)
	}
	return obj, nil
}

// cycle returns the names of a cycle of dependencies, nil if there is none.
func (r *Reconciler) cycle(ctx context.Context, own types.NamespacedName) ([]string, error) {
	names, err := dependson.Cycle(own, func(name types.NamespacedName) ([]types.NamespacedName, error) {
		obj, err := r.other(ctx, name)
		if obj == nil || err != nil {
			return nil, err
		}
		next := make([]types.NamespacedName, 0, len(obj.Spec.DependsOn))
		for _, ref := range obj.Spec.DependsOn {
			next = append(next, dependencyOf(obj, ref))
		}
		return next, nil
	})
	if len(names) > 0 {
		names = append(names, own.String())
	}
	return names, err
}
