// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/connect"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// outcome is the condition Ready after a pass, what else to tell, and when the next pass is.
type outcome struct {
	reason, message string
	news            []news
	after           time.Duration
}

// news is an event beside those of the condition.
type news struct{ severity, reason, message string }

// problem is an error that a condition has.
type problem struct {
	reason string
	// waits: it may end without a change of the spec.
	waits bool
	err   error
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

func problemf(reason string, waits bool, format string, args ...any) error {
	return &problem{reason, waits, fmt.Errorf(format, args...)}
}

func (r *Reconciler) reconcileClaim(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := r.reconcileOne(ctx, req)
	if after := r.left.remove(ctx, r, req.NamespacedName); err == nil && after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter) {
		result.RequeueAfter = after
	}
	return result, err
}

func (r *Reconciler) reconcileOne(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var c yubav1.SubdomainClaim
	if err := r.Client.Get(ctx, req.NamespacedName, &c); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !c.DeletionTimestamp.IsZero() {
		return r.release(ctx, &c)
	}
	before := c.DeepCopy()
	if held := moving.Held(&c); held != "" {
		return r.rest(ctx, before, &c, outcome{reason: yubav1.ReasonRecordMoved, message: held})
	}
	if wanted := c.DeepCopy(); controllerutil.AddFinalizer(wanted, yubav1.SubdomainClaimFinalizer) {
		if err := reconciling.SetFinalizers(ctx, r.Client, &c, before, wanted.Finalizers); err != nil {
			return reconciling.Again(err)
		}
	}
	o, err := r.pass(ctx, &c)
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err()
	}
	if err != nil {
		known := o.news
		o = r.failed(&c, err)
		o.news = known
	}
	return r.rest(ctx, before, &c, o)
}

// rest records the end of a pass.
func (r *Reconciler) rest(ctx context.Context, before, c *yubav1.SubdomainClaim, o outcome) (ctrl.Result, error) {
	c.Status.ObservedGeneration = c.Generation
	c.Status.LastHandledReconcileAt = c.Annotations[infrav1.AnnotationReconcile]
	status := metav1.ConditionFalse
	if o.reason == yubav1.ReasonClaimCommitted {
		status = metav1.ConditionTrue
	}
	conditions.Set(c, infrav1.ConditionReady, status, o.reason, infrav1.TrimMessage(o.message))
	before.Status.Writes = c.Status.Writes // they are noted when they are made: another process may have added its own since
	if err := reconciling.PatchStatus(ctx, r.Client, before, c); err != nil {
		r.tell(before, before, o) // what happened has happened
		return reconciling.Again(err)
	}
	r.tell(before, c, o)
	return ctrl.Result{RequeueAfter: o.after}, nil
}

// failed is the outcome of a pass with an error.
func (r *Reconciler) failed(c *yubav1.SubdomainClaim, err error) outcome {
	var wrong *problem
	var invalid *connect.InvalidError
	var refused *powerdns.RefusedError
	o := outcome{reason: yubav1.ReasonRecordUnreachable, message: sentence(err), after: retry}
	switch {
	case errors.As(err, &wrong):
		o.reason = wrong.reason
		if !wrong.waits {
			o.after = 0 // until the spec, the pool or the stack changes
		}
		if wrong.reason == yubav1.ReasonClaimContended {
			o.after = pause()
		}
	case errors.As(err, &refused) && refused.Status >= http.StatusInternalServerError: // such as a database that is locked
		o.after = shortest
	case errors.As(err, &invalid):
		o.reason, o.message = yubav1.ReasonClaimPool, sentence(fmt.Errorf("the pool is wrong: %w", err))
	}
	if c.Status.Phase == "" { // nothing is reserved
		c.Status.ReservedAt, c.Status.ExpiresAt = nil, nil
	}
	// A reservation ends in time, whatever else is wrong.
	if c.Status.Phase == yubav1.SubdomainReserved && c.Status.ExpiresAt != nil {
		o.after = max(shortest, min(o.after, c.Status.ExpiresAt.Sub(r.Now())))
	}
	return o
}

// tell makes the events of a pass: those of transitions, and what else happened.
func (r *Reconciler) tell(before, after *yubav1.SubdomainClaim, o outcome) {
	was, is := conditions.Of(before, infrav1.ConditionReady), conditions.Of(after, infrav1.ConditionReady)
	if was.Reason != is.Reason && is.Reason != yubav1.ReasonClaimContended {
		severity := corev1.EventTypeWarning
		if is.Status == metav1.ConditionTrue || is.Reason == yubav1.ReasonClaimReserved || is.Reason == yubav1.ReasonRecordMoved {
			severity = corev1.EventTypeNormal
		}
		reconciling.Event(r.Events, after, severity, is.Reason, "Claim", is.Message)
	}
	for _, n := range o.news {
		reconciling.Event(r.Events, after, n.severity, n.reason, "Claim", n.message)
	}
}

// release removes the records of a deleted claim.
func (r *Reconciler) release(ctx context.Context, c *yubav1.SubdomainClaim) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(c, yubav1.SubdomainClaimFinalizer) {
		return ctrl.Result{}, nil
	}
	if err := r.withdraw(ctx, c); err != nil {
		const way = "Yuba tries again. To leave the records, remove the finalizer " + yubav1.SubdomainClaimFinalizer
		r.Log.Warn("the DNS records of a deleted SubdomainClaim are not removed yet", "claim", c.Namespace+"/"+c.Name, "error", err)
		reconciling.Event(r.Events, c, corev1.EventTypeWarning, yubav1.ReasonRecordUnreachable, "Release",
			fmt.Sprintf("The records of %s are not removed: %v. %s", c.Status.Domain, err, way))
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	return ctrl.Result{}, reconciling.Release(ctx, r.Client, c, yubav1.SubdomainClaimFinalizer)
}

// withdraw removes the registration and the records from the server.
func (r *Reconciler) withdraw(ctx context.Context, c *yubav1.SubdomainClaim) error {
	var fresh yubav1.SubdomainClaim // the cache may not have the last pass yet
	if err := r.Direct.Get(ctx, client.ObjectKeyFromObject(c), &fresh); err != nil {
		return client.IgnoreNotFound(err)
	}
	if fresh.UID != c.UID || fresh.Status.Place == nil || moving.Held(&fresh) != "" {
		return nil // nothing was written, or another home keeps it
	}
	leave := func(because string) error {
		r.Log.Warn("the DNS records of a deleted SubdomainClaim stay on the server", "claim", c.Namespace+"/"+c.Name, "domain", fresh.Status.Domain, "server", fresh.Status.Place.URL, "because", because)
		return nil
	}
	var pool yubav1.SubdomainPool
	err := r.Direct.Get(ctx, poolKey(c), &pool)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err != nil || pool.Spec.PowerDNS == nil:
		return leave("its pool is gone")
	case !within(fresh.Status.Domain, pool.Spec.Domain):
		return leave("its pool is another one")
	}
	server, err := r.connect(ctx, &pool)
	var invalid *connect.InvalidError
	if errors.As(err, &invalid) { // as when the namespace is deleted
		return leave(err.Error())
	}
	if err != nil {
		return err
	}
	t := &taking{r: r, c: &fresh, pool: poolKey(c), server: server, place: *fresh.Status.Place, domain: fresh.Status.Domain, gone: true}
	_, err = t.do(ctx)
	return err
}

func within(domain, pool string) bool {
	return domain == pool || strings.HasSuffix(domain, "."+pool)
}
