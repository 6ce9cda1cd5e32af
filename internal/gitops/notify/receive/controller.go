// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package receive

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/limiter"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// Receivers reconciles the kind Receiver, and serves hooks.
type Receivers struct {
	// Client reads objects from the cache, and Secrets from the API.
	Client client.Client
	Events events.EventRecorder
	// AllowCrossNamespace lets receivers name objects of other namespaces.
	AllowCrossNamespace bool
	Log                 *slog.Logger

	table *table
	asker *asker
	// reading limits bodies in memory, bodies those of a namespace, deciding its expressions.
	reading, bodies, deciding *limiter.Limiter
	// ready is true once the receivers that existed at the start are in the table.
	ready atomic.Bool
}

// indexSecret finds the receivers that use a Secret.
const indexSecret = "yuba.receiver.secret"

// workers is the number of concurrent reconciliations.
const workers = 4

// SetupWithManager starts the controller with the manager.
func (r *Receivers) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	r.table, r.reading = newTable(), limiter.New(bodies)
	r.bodies, r.deciding = limiter.New(namespaceBodies), limiter.New(1)
	r.asker = &asker{writer: r.Client, pause: askPause, log: r.Log}
	err := mgr.GetFieldIndexer().IndexField(ctx, &notificationv1.Receiver{}, indexSecret, func(o client.Object) []string {
		ref := o.(*notificationv1.Receiver).Spec.SecretRef
		if ref == nil {
			return nil
		}
		return []string{o.GetNamespace() + "/" + ref.Name}
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(r.open)); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("receiver").
		For(&notificationv1.Receiver{}, builder.WithPredicates(reconciling.Triggers())).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return reconciling.Find(ctx, r.Client, r.Log, &notificationv1.ReceiverList{}, indexSecret, o.GetNamespace()+"/"+o.GetName())
		})).
		WithOptions(reconciling.Options(workers)).
		Complete(r)
}

// open fills the table before the first hook: senders do not retry after "not found".
func (r *Receivers) open(ctx context.Context) error {
	var list notificationv1.ReceiverList
	if err := r.Client.List(ctx, &list); err != nil {
		return fmt.Errorf("list the receivers: %w", err)
	}
	for i := range list.Items {
		if r.table.has(client.ObjectKeyFromObject(&list.Items[i])) {
			continue // the controller may have read a newer version
		}
		// The controller reports errors and retries.
		if _, err := r.look(ctx, &list.Items[i]); err != nil {
			r.Log.Warn("a receiver does not accept hooks yet", "receiver", client.ObjectKeyFromObject(&list.Items[i]).String(), "error", err)
		}
	}
	r.ready.Store(true)
	<-ctx.Done()
	r.ready.Store(false)
	r.asker.close()
	return nil
}

// Reconcile updates a receiver's path after changes of its object or Secret.
func (r *Receivers) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var obj notificationv1.Receiver
	if err := r.Client.Get(ctx, req.NamespacedName, &obj); err != nil {
		r.table.set(req.NamespacedName, nil)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !obj.DeletionTimestamp.IsZero() {
		r.table.set(req.NamespacedName, nil)
		return ctrl.Result{}, reconciling.Release(ctx, r.Client, &obj, notificationv1.NotificationFinalizer)
	}
	v, err := r.look(ctx, &obj)
	if err != nil {
		return ctrl.Result{}, err
	}
	if obj.Spec.Suspend {
		return ctrl.Result{}, nil
	}
	if err := r.report(ctx, &obj, v); err != nil {
		return ctrl.Result{}, err
	}
	if v.stalled {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: obj.GetInterval()}, nil
}

// look checks a receiver, and adds it to the table or removes it.
func (r *Receivers) look(ctx context.Context, obj *notificationv1.Receiver) (verdict, error) {
	key := client.ObjectKeyFromObject(obj)
	secret, err := r.secret(ctx, obj)
	if err != nil {
		return verdict{}, err
	}
	v, err := judge(obj, secret, r.Client.RESTMapper(), r.AllowCrossNamespace)
	if err != nil {
		return verdict{}, err
	}
	if v.reason != meta.SucceededReason {
		r.table.set(key, nil)
		return v, nil
	}
	r.table.set(key, &entry{receiver: obj.DeepCopy(), path: v.path, token: v.token, targets: v.targets, filter: v.filter})
	return v, nil
}

// secret reads a receiver's Secret; nil if there is none.
func (r *Receivers) secret(ctx context.Context, obj *notificationv1.Receiver) (*corev1.Secret, error) {
	if obj.Spec.SecretRef == nil {
		return nil, nil
	}
	var secret corev1.Secret
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: obj.Namespace, Name: obj.Spec.SecretRef.Name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the Secret %s/%s: %w", obj.Namespace, obj.Spec.SecretRef.Name, err)
	}
	return &secret, nil
}

// report writes a changed status, and sends an event.
func (r *Receivers) report(ctx context.Context, obj *notificationv1.Receiver, v verdict) error {
	before := obj.DeepCopy()
	describe(obj, v)
	if equality.Semantic.DeepEqual(before.Status, obj.Status) {
		return nil
	}
	patch := client.MergeFrom(before)
	if err := r.Client.Status().Patch(ctx, obj, patch); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status of receiver %s/%s: %w", obj.Namespace, obj.Name, err))
	}
	was, is := conditions.Of(before, meta.ReadyCondition), conditions.Of(obj, meta.ReadyCondition)
	switch {
	case is.Status == metav1.ConditionTrue:
		r.event(obj, corev1.EventTypeNormal, meta.SucceededReason, fmt.Sprintf("Reconciliation finished, next run in %s", obj.GetInterval()))
	case was.Status != is.Status || was.Reason != is.Reason || was.Message != is.Message:
		reason := is.Reason
		if reason == notificationv1.TokenNotFoundReason {
			reason = meta.FailedReason
		}
		r.Log.Warn("a receiver does not accept hooks", "receiver", client.ObjectKeyFromObject(obj).String(), "reason", is.Reason, "problem", is.Message)
		r.event(obj, corev1.EventTypeWarning, reason, is.Message)
	}
	return nil
}

func (r *Receivers) event(obj *notificationv1.Receiver, severity, reason, message string) {
	reconciling.Event(r.Events, obj, severity, reason, "Reconcile", message)
}

// describe writes a verdict to the status, with Flux's texts.
func describe(obj *notificationv1.Receiver, v verdict) {
	status := &obj.Status
	if at, ok := meta.ReconcileAnnotationValue(obj.Annotations); ok {
		status.LastHandledReconcileAt = at
	}
	status.WebhookPath = v.path
	conditions.Remove(obj, meta.StalledCondition, meta.ReconcilingCondition)
	ready := metav1.ConditionFalse
	switch {
	case v.reason == meta.SucceededReason:
		ready = metav1.ConditionTrue
		status.ObservedGeneration = obj.Generation
	case v.stalled:
		conditions.Set(obj, meta.StalledCondition, metav1.ConditionTrue, v.reason, v.message)
		status.ObservedGeneration = obj.Generation
	default:
		conditions.Set(obj, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, "Reconciliation in progress")
	}
	conditions.Set(obj, meta.ReadyCondition, ready, v.reason, v.message)
}
