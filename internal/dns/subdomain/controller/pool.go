// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

func (r *Reconciler) reconcilePool(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var p yubav1.SubdomainPool
	if err := r.Client.Get(ctx, req.NamespacedName, &p); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var claims yubav1.SubdomainClaimList
	if err := r.Client.List(ctx, &claims, client.MatchingFields{indexPool: req.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, err
	}
	before := p.DeepCopy()
	needing := slices.DeleteFunc(slices.Clone(claims.Items), func(c yubav1.SubdomainClaim) bool { return moving.Held(&c) != "" })
	if !p.DeletionTimestamp.IsZero() && len(needing) == 0 {
		return ctrl.Result{}, reconciling.Release(ctx, r.Client, &p, yubav1.SubdomainPoolFinalizer)
	}
	held := moving.Held(&p)
	if wanted := p.DeepCopy(); p.DeletionTimestamp.IsZero() && held == "" && controllerutil.AddFinalizer(wanted, yubav1.SubdomainPoolFinalizer) {
		if err := reconciling.SetFinalizers(ctx, r.Client, &p, before, wanted.Finalizers); err != nil {
			return reconciling.Again(err)
		}
	}
	p.Status.Claims = int32(len(claims.Items)) //nolint:gosec // an API does not have more objects
	reason, message, err := yubav1.ReasonRecordMoved, held, error(nil)
	if held == "" {
		reason, message, err = r.checkPool(ctx, &p)
	}
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err()
	}
	status := metav1.ConditionTrue
	switch {
	case err != nil:
		status, message = metav1.ConditionFalse, sentence(err)
	case held != "":
		status = metav1.ConditionFalse
	}
	if !p.DeletionTimestamp.IsZero() {
		status, reason = metav1.ConditionFalse, yubav1.ReasonPoolInUse
		message = fmt.Sprintf("The pool is deleted when no claim names it: there are %d, such as %s/%s", len(needing), needing[0].Namespace, needing[0].Name)
	}
	p.Status.ObservedGeneration = p.Generation
	p.Status.LastHandledReconcileAt = p.Annotations[infrav1.AnnotationReconcile]
	conditions.Set(&p, infrav1.ConditionReady, status, reason, infrav1.TrimMessage(message))
	if err := reconciling.PatchStatus(ctx, r.Client, before, &p); err != nil {
		return reconciling.Again(err)
	}
	if was := conditions.Of(before, infrav1.ConditionReady); was.Reason != reason {
		severity := corev1.EventTypeNormal
		if status == metav1.ConditionFalse && reason != yubav1.ReasonRecordMoved {
			severity = corev1.EventTypeWarning
		}
		reconciling.Event(r.Events, &p, severity, reason, "Check", message)
	}
	if held != "" && p.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	after := max(p.Spec.Interval.Duration, shortest)
	if err != nil {
		after = min(after, retry)
	}
	return ctrl.Result{RequeueAfter: after}, nil
}

// checkPool asks the server of a pool for its zone.
func (r *Reconciler) checkPool(ctx context.Context, p *yubav1.SubdomainPool) (reason, message string, err error) {
	if p.Spec.PowerDNS == nil {
		p.Status.Zone, p.Status.ServerVersion = "", ""
		return yubav1.ReasonPoolReady, fmt.Sprintf("Names below %s can be claimed. Their records are created manually: yuba dns check CLAIM lists them", p.Spec.Domain), nil
	}
	c, err := r.connect(ctx, p)
	var wrong *connect.InvalidError
	if errors.As(err, &wrong) {
		return yubav1.ReasonPoolInvalid, "", err
	}
	if err == nil {
		p.Status.ServerVersion, err = c.Version(ctx)
	}
	if err != nil {
		return yubav1.ReasonRecordUnreachable, "", err
	}
	p.Status.Zone, err = zoneOf(ctx, c, p)
	if errors.Is(err, powerdns.ErrNoZone) {
		return yubav1.ReasonRecordNoZone, "", fmt.Errorf("the server has no zone for %s. Create the zone on the server", p.Spec.Domain)
	}
	if err != nil {
		return yubav1.ReasonRecordUnreachable, "", err
	}
	return yubav1.ReasonPoolReady, fmt.Sprintf("Names below %s can be claimed, in zone %s", p.Spec.Domain, p.Status.Zone), nil
}

// connect makes a client of a pool's server, with the Secret of the pool's namespace.
func (r *Reconciler) connect(ctx context.Context, p *yubav1.SubdomainPool) (*powerdns.Client, error) {
	c, _, err := connect.To(ctx, r.Direct, p.Namespace, "spec.powerDNS", p.Spec.PowerDNS.URL, p.Spec.PowerDNS.SecretRef.Name)
	return c, err
}

// zoneOf is the zone that has a pool's domain.
func zoneOf(ctx context.Context, c *powerdns.Client, p *yubav1.SubdomainPool) (string, error) {
	zone := p.Spec.PowerDNS.Zone
	if zone == "" {
		return c.Zone(ctx, p.Spec.Domain)
	}
	has, err := c.HasZone(ctx, zone)
	if err == nil && (!has || p.Spec.Domain != zone && !strings.HasSuffix(p.Spec.Domain, "."+zone)) {
		err = powerdns.ErrNoZone
	}
	return zone, err
}

// every is how often a pool's claims are compared.
func every(p *yubav1.SubdomainPool) time.Duration { return max(p.Spec.Interval.Duration, shortest) }

// sentence begins with a capital letter, unless it begins with a domain.
func sentence(err error) string {
	text := err.Error()
	if first, _, _ := strings.Cut(text, " "); strings.Contains(first, ".") {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
