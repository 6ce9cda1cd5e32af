// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/yuba-dev/yuba/internal/gitops/notify/send"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// SetupWithManager adds the dispatcher to the manager. If it serves Alerts and Providers, it
// reports their problems as events: these kinds do not have a status.
func (d *Dispatcher) SetupWithManager(mgr ctrl.Manager) error {
	if err := mgr.Add(d); err != nil {
		return err
	}
	if d.Client == nil {
		return nil
	}
	options := reconciling.Options(1)
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	err := ctrl.NewControllerManagedBy(mgr).Named("provider").For(&notificationv1beta3.Provider{}, changed).WithOptions(options).
		Complete(checker(d, func() *notificationv1beta3.Provider { return &notificationv1beta3.Provider{} }, checkProvider))
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("alert").For(&notificationv1beta3.Alert{}, changed).WithOptions(options).
		Complete(checker(d, func() *notificationv1beta3.Alert { return &notificationv1beta3.Alert{} }, func(a *notificationv1beta3.Alert) []string {
			return checkAlert(a, d.AllowCrossNamespace)
		}))
}

// checker reports the problems of an object, and removes Flux's finalizer from a deleted one.
func checker[O client.Object](d *Dispatcher, empty func() O, check func(O) []string) reconcile.Func {
	return func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		obj := empty()
		if err := d.Client.Get(ctx, req.NamespacedName, obj); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		if obj.GetDeletionTimestamp() != nil {
			return reconcile.Result{}, reconciling.Release(ctx, d.Client, obj, notificationv1.NotificationFinalizer)
		}
		// The API shows one text for each reason: join all problems.
		if problem := strings.Join(check(obj), "; "); problem != "" {
			d.Log.Warn("a provider or alert has a problem", "object", req.String(), "problem", problem)
			reconciling.Event(d.Events, obj, corev1.EventTypeWarning, reasonInvalidConfig, actionCheck, problem)
		}
		return reconcile.Result{}, nil
	}
}

// checkProvider returns the problems of a provider.
func checkProvider(p *notificationv1beta3.Provider) (problems []string) {
	if !send.Supported(p.Spec.Type) {
		problems = append(problems, fmt.Sprintf("spec.type: providers of type %s are not supported, and nothing is sent. Supported: %s",
			p.Spec.Type, strings.Join(send.Types(), ", ")))
	}
	if p.Spec.Address == "" && p.Spec.SecretRef == nil {
		problems = append(problems, "spec.address is empty and spec.secretRef does not name a Secret with an address: nothing is sent")
	}
	if send.KeepsStatuses(p.Spec.Type) && p.Spec.SecretRef == nil {
		problems = append(problems, "spec.secretRef does not name a Secret with a token: no commit status is set")
	}
	if p.Spec.ServiceAccountName != "" {
		problems = append(problems, "spec.serviceAccountName: cloud identities are not supported; set credentials in spec.secretRef")
	}
	if p.Spec.CommitStatusExpr != "" {
		if _, err := statusExpression(p.Spec.CommitStatusExpr); err != nil {
			problems = append(problems, err.Error())
		}
	}
	return problems
}

// checkAlert returns the problems of an alert.
func checkAlert(a *notificationv1beta3.Alert, crossNamespace bool) (problems []string) {
	for i, source := range a.Spec.EventSources {
		if source.Namespace != "" && source.Namespace != a.Namespace && !crossNamespace {
			problems = append(problems, fmt.Sprintf("spec.eventSources[%d]: can't access '%s/%s/%s', cross-namespace references have been blocked; --allow-cross-namespace of the server allows them",
				i, source.Kind, source.Namespace, source.Name))
		}
	}
	if kinds := unserved(a); len(kinds) > 0 {
		problems = append(problems, "spec.eventSources: this server does not serve these kinds, and sends nothing about them: "+strings.Join(kinds, ", "))
	}
	problems = append(problems, checkExpressions("spec.inclusionList", a.Spec.InclusionList)...)
	return append(problems, checkExpressions("spec.exclusionList", a.Spec.ExclusionList)...)
}

// foreign are kinds of Flux that Yuba does not serve.
var foreign = []string{"ImageRepository", "ImagePolicy", "ImageUpdateAutomation", "ArtifactGenerator"}

// unserved returns the kinds of an alert that Yuba does not serve.
func unserved(a *notificationv1beta3.Alert) (kinds []string) {
	for _, source := range a.Spec.EventSources {
		if slices.Contains(foreign, source.Kind) && !slices.Contains(kinds, source.Kind) {
			kinds = append(kinds, source.Kind)
		}
	}
	return kinds
}
