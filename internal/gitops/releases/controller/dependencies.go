// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/cel-go/cel"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/releases/decide"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/expression"
)

// expressionTimeout limits one expression.
const expressionTimeout = time.Second

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
	var ready *expression.Expression
	if ref.ReadyExpr != "" {
		var err error
		if ready, err = expression.New(ref.ReadyExpr, cel.BoolType, "self", "dep"); err != nil {
			d.Invalid = fmt.Sprintf("the expression readyExpr of the dependency %s is invalid: %v", ref.Name, err)
			return d, nil
		}
	}
	dep, err := r.other(ctx, name)
	if d.Missing = dep == nil; err != nil || d.Missing {
		return d, err
	}
	if ready != nil {
		if d.Ready, err = evaluate(ctx, ready, obj, dep); err != nil {
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

func evaluate(ctx context.Context, e *expression.Expression, self, dep *helmv2.HelmRelease) (bool, error) {
	vars := map[string]any{}
	for name, obj := range map[string]*helmv2.HelmRelease{"self": self, "dep": dep} {
		m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return false, fmt.Errorf("convert the HelmRelease %s: %w", name, err)
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

// cycle returns the names of a cycle of dependencies, nil if there is none.
func (r *Reconciler) cycle(ctx context.Context, own types.NamespacedName) ([]string, error) {
	// from maps each HelmRelease to the one that depends on it.
	from := map[types.NamespacedName]types.NamespacedName{}
	for queue := []types.NamespacedName{own}; len(queue) > 0; {
		name := queue[0]
		queue = queue[1:]
		obj, err := r.other(ctx, name)
		if err != nil {
			return nil, err
		}
		if obj == nil {
			continue
		}
		for _, ref := range obj.Spec.DependsOn {
			next := dependencyOf(obj, ref)
			if next == own {
				names := []string{own.String()}
				for at := name; at != own; at = from[at] {
					names = append([]string{at.String()}, names...)
				}
				return append([]string{own.String()}, names...), nil
			}
			if _, seen := from[next]; !seen {
				from[next] = name
				queue = append(queue, next)
			}
		}
	}
	return nil, nil
}
