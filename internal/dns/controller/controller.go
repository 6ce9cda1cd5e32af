// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

const (
	// retry is when a server that failed is asked again.
	retry = 30 * time.Second
	// shortest is the shortest interval, and when a record that was written is asked for again: the
	// first answers come before the first checks.
	shortest = 5 * time.Second
)

// indexSecret finds the records that use a Secret, as NAMESPACE/NAME.
const indexSecret = "yuba.failoverrecords.secret"

// Reconciler keeps records.
type Reconciler struct {
	// Client reads the cache and writes status. Direct reads Secrets from the API itself.
	Client client.Client
	Direct client.Reader
	Events events.EventRecorder
	Now    func() time.Time
	Log    *slog.Logger

	// writing has a lock for each server, by URL.
	writing sync.Map
	// dropped has the UIDs of records whose DNSEndpoint is known not to exist. A pass that failed would not know otherwise
	// whether an earlier one got as far as to remove it.
	dropped sync.Map
}

// SetupWithManager starts the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &yubav1.FailoverRecord{}, indexSecret, func(o client.Object) []string {
		f := o.(*yubav1.FailoverRecord) //nolint:forcetypeassert // of the kind that is indexed
		if f.Spec.Publish.DNSEndpoint != nil {
			return nil
		}
		return []string{f.Namespace + "/" + f.Spec.Publish.PowerDNS.SecretRef.Name}
	})
	if err != nil {
		return fmt.Errorf("index failover records: %w", err)
	}
	err = mgr.GetFieldIndexer().IndexField(ctx, &yubav1.FailoverRecord{}, indexHost, func(o client.Object) []string {
		f := o.(*yubav1.FailoverRecord) //nolint:forcetypeassert // of the kind that is indexed
		if f.Spec.Publish.DNSEndpoint == nil {
			return nil
		}
		return []string{f.Spec.Host}
	})
	if err != nil {
		return fmt.Errorf("index the hosts of failover records: %w", err)
	}
	secrets := &metav1.PartialObjectMetadata{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err = ctrl.NewControllerManagedBy(mgr).Named("failoverrecord").
		For(&yubav1.FailoverRecord{}, builder.WithPredicates(reconciling.Triggers())).
		WatchesMetadata(secrets, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return reconciling.Find(ctx, r.Client, r.Log, &yubav1.FailoverRecordList{}, indexSecret, o.GetNamespace()+"/"+o.GetName())
		})).
		WithOptions(reconciling.Options(4)).Complete(reconcile.Func(r.reconcile))
	if err != nil {
		return fmt.Errorf("set up the controller of FailoverRecords: %w", err)
	}
	return nil
}

func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var f yubav1.FailoverRecord
	if err := r.Client.Get(ctx, req.NamespacedName, &f); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !f.DeletionTimestamp.IsZero() {
		return r.release(ctx, &f)
	}
	before := f.DeepCopy()
	if wanted := f.DeepCopy(); moving.Held(&f) == "" && controllerutil.AddFinalizer(wanted, yubav1.FailoverRecordFinalizer) {
		if err := reconciling.SetFinalizers(ctx, r.Client, &f, before, wanted.Finalizers); err != nil {
			return reconciling.Again(err)
		}
	}
	o := r.pass(ctx, &f)
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err()
	}
	f.Status.ObservedGeneration = f.Generation
	f.Status.LastHandledReconcileAt = f.Annotations[infrav1.AnnotationReconcile]
	status := metav1.ConditionFalse
	if o.reason == yubav1.ReasonRecordPublished {
		status = metav1.ConditionTrue
	}
	conditions.Set(&f, infrav1.ConditionReady, status, o.reason, infrav1.TrimMessage(o.message))
	if err := reconciling.PatchStatus(ctx, r.Client, before, &f); err != nil {
		return reconciling.Again(err)
	}
	for _, n := range newsOf(before, &f) {
		reconciling.Event(r.Events, &f, n.severity, n.reason, "Publish", n.message)
	}
	return ctrl.Result{RequeueAfter: o.after}, nil
}

// release removes the records of a deleted object.
func (r *Reconciler) release(ctx context.Context, f *yubav1.FailoverRecord) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(f, yubav1.FailoverRecordFinalizer) {
		return ctrl.Result{}, nil
	}
	if err := r.withdraw(ctx, f); err != nil {
		r.Log.Warn("the DNS records of a deleted FailoverRecord are not removed yet; set spec.suspend to true to leave them",
			"record", f.Namespace+"/"+f.Name, "error", err)
		reconciling.Event(r.Events, f, corev1.EventTypeWarning, yubav1.ReasonRecordUnreachable, "Remove",
			fmt.Sprintf("The records of %s are not removed: %v. Yuba tries again; set spec.suspend to true to leave them", f.Spec.Host, err))
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	r.dropped.Delete(f.UID)
	return ctrl.Result{}, reconciling.Release(ctx, r.Client, f, yubav1.FailoverRecordFinalizer)
}

// news is an event.
type news struct{ severity, reason, message string }

// newsOf are the events of a pass: when a record is published, answers something else, or begins to fail.
func newsOf(before, after *yubav1.FailoverRecord) (all []news) {
	was, is := conditions.Of(before, infrav1.ConditionReady), conditions.Of(after, infrav1.ConditionReady)
	switch {
	case is.Status == metav1.ConditionTrue && was.Status != is.Status:
		all = append(all, news{corev1.EventTypeNormal, is.Reason, is.Message})
	case is.Status == metav1.ConditionTrue && before.Status.Answer != after.Status.Answer && before.Status.Answer != "" && answersAreStable(&after.Spec):
		all = append(all, news{corev1.EventTypeNormal, yubav1.ReasonRecordAnswerChanged,
			fmt.Sprintf("%s answers %s; before it was %s", after.Spec.Host, after.Status.Answer, before.Status.Answer)})
	case (is.Reason == yubav1.ReasonRecordSuspended || is.Reason == yubav1.ReasonRecordMoved) && was.Reason != is.Reason:
		all = append(all, news{corev1.EventTypeNormal, is.Reason, is.Message})
	case is.Status != metav1.ConditionTrue && was.Reason != is.Reason:
		all = append(all, news{corev1.EventTypeWarning, is.Reason, is.Message})
	}
	return all
}

// answersAreStable reports whether an answer only changes with the endpoints that are up.
func answersAreStable(s *yubav1.FailoverRecordSpec) bool {
	return s.Selector != yubav1.SelectRandom && s.WhenAllDown != yubav1.SelectRandom && s.Placement != yubav1.PlacementGeo
}
