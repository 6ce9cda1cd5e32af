// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/google/cel-go/cel"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decide"
	"github.com/yuba-dev/yuba/internal/kit/expression"
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
	var ready *expression.Expression
	if ref.ReadyExpr != "" {
		var err error
		if ready, err = readyExpression(ref.ReadyExpr); err != nil {
			d.Invalid = fmt.Sprintf("Reconciliation failed terminally due to configuration error: failed to evaluate dependency %s: %v", ref.Name, err)
			return d, nil
		}
	}
	obj, err := r.fromCache(ctx, name)
	if d.Missing = obj == nil; err != nil || d.Missing {
		return d, err
	}
	if ready != nil {
		if d.Ready, err = evaluate(ctx, ready, p.obj, obj); err != nil {
			d.Failure = err.Error()
		}
		return d, nil
	}
	d.Ready = obj.Status.ObservedGeneration == obj.Generation && isReady(obj)
	d.SameSource = obj.Spec.SourceRef.Kind == p.obj.Spec.SourceRef.Kind && sourceName(obj) == sourceName(p.obj)
	d.SameRevision = obj.Status.LastAppliedRevision == p.artifact.revision
	return d, nil
}

func readyExpression(text string) (*expression.Expression, error) {
	return expression.New(text, cel.BoolType, "self", "dep")
}

// expressionTimeout limits expressions, whose authors are not trusted.
const expressionTimeout = time.Second

func evaluate(ctx context.Context, e *expression.Expression, self, dep *kustomizev1.Kustomization) (bool, error) {
	vars := map[string]any{}
	for name, obj := range map[string]*kustomizev1.Kustomization{"self": self, "dep": dep} {
		m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return false, fmt.Errorf("failed to convert %s object to map: %w", name, err)
		}
		vars[name] = m
	}
	ctx, cancel := context.WithTimeout(ctx, expressionTimeout)
	defer cancel()
	ok, err := e.Bool(ctx, vars)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return false, fmt.Errorf("the expression took longer than %s", expressionTimeout)
	}
	return ok, err
}

// cycle returns the shortest cycle of dependencies with a Kustomization; nil if there is none.
func (r *Reconciler) cycle(ctx context.Context, own engine.Owner) ([]string, error) {
	// from maps each Kustomization to the one that depends on it.
	from := map[engine.Owner]engine.Owner{}
	queue := []engine.Owner{own}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		obj, err := r.fromCache(ctx, name)
		if err != nil {
			return nil, err
		}
		if obj == nil {
			continue
		}
		for _, ref := range obj.Spec.DependsOn {
			next := dependencyOf(obj, ref)
			if next == own {
				return way(from, own, name), nil
			}
			if _, seen := from[next]; !seen {
				from[next] = name
				queue = append(queue, next)
			}
		}
	}
	return nil, nil
}

// way names the Kustomizations from the first to the last.
func way(from map[engine.Owner]engine.Owner, first, last engine.Owner) []string {
	names := []string{last.String()}
	for last != first {
		last = from[last]
		names = append([]string{last.String()}, names...)
	}
	return names
}
