// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/yaml"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// The names that tofu-controller's branch planner expects.
const (
	branchPlanner       = "branch-planner"
	branchPlannerSecret = "branch-planner-token" //nolint:gosec // the name of a Secret
	branchPlannerEvery  = 30 * time.Second
)

// branchPlanners makes a PullRequestPlanner of each ConfigMap of tofu-controller's branch planner. It owns it, so that both
// end together.
type branchPlanners struct{ *Reconciler }

func (b branchPlanners) setup(mgr ctrl.Manager) error {
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == branchPlanner })
	return ctrl.NewControllerManagedBy(mgr).Named("branchplanner").
		For(&corev1.ConfigMap{}, builder.OnlyMetadata, builder.WithPredicates(ours, predicate.ResourceVersionChangedPredicate{})).
		WithOptions(reconciling.Options(1)).
		Complete(b)
}

// Reconcile makes the planner of a ConfigMap.
func (b branchPlanners) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var config corev1.ConfigMap
	if err := b.Reader.Get(ctx, req.NamespacedName, &config); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	spec, err := branchPlannerSpec(&config)
	if err != nil {
		reconciling.Event(b.Events, &config, corev1.EventTypeWarning, yubav1.ReasonNoSources, "Plan", err.Error())
		return ctrl.Result{}, nil
	}
	planner := &yubav1.PullRequestPlanner{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: branchPlanner,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&config, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}}, Spec: spec}
	var live yubav1.PullRequestPlanner
	err = b.Reader.Get(ctx, req.NamespacedName, &live)
	switch {
	case apierrors.IsNotFound(err):
		return reconciling.Again(b.Client.Create(ctx, planner))
	case err != nil:
		return ctrl.Result{}, err
	case !metav1.IsControlledBy(&live, &config):
		return ctrl.Result{}, nil // somebody made one, which counts
	}
	wanted := live.DeepCopy()
	wanted.Spec.Interval, wanted.Spec.Stacks, wanted.Spec.Forge.SecretRef = spec.Interval, spec.Stacks, spec.Forge.SecretRef
	if equality.Semantic.DeepEqual(wanted.Spec, live.Spec) {
		return ctrl.Result{}, nil
	}
	return reconciling.Again(b.Client.Update(ctx, wanted))
}

// branchPlannerSpec translates the ConfigMap.
func branchPlannerSpec(config *corev1.ConfigMap) (spec yubav1.PullRequestPlannerSpec, err error) {
	if ns := cmp.Or(config.Data["secretNamespace"], config.Namespace); ns != config.Namespace {
		return spec, fmt.Errorf("the ConfigMap names a Secret of the namespace %s. Copy the Secret to %s, and remove secretNamespace", ns, config.Namespace)
	}
	spec.Interval = metav1.Duration{Duration: branchPlannerEvery}
	spec.Forge.SecretRef = meta.LocalObjectReference{Name: cmp.Or(config.Data["secretName"], branchPlannerSecret)}
	if err := yaml.Unmarshal([]byte(config.Data["resources"]), &spec.Stacks); err != nil {
		return spec, fmt.Errorf("read resources of the ConfigMap: %w", err)
	}
	if len(spec.Stacks) == 0 { // all of the namespace
		spec.Stacks = []yubav1.PullRequestStackReference{{Namespace: config.Namespace}}
	}
	return spec, nil
}
