// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
)

// Reconcile makes one pass over a TenantRegistry, or over the tenants of a deleted one.
func (r *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &pass{name: req.NamespacedName, account: r.ledger.of(req.NamespacedName), now: r.Now(),
		broken: map[string]string{}, unmade: map[string]map[string]string{}, tried: map[string]bool{}}
	obj := &tenantv1.TenantRegistry{}
	err := r.Fresh.Get(ctx, req.NamespacedName, obj)
	switch {
	case apierrors.IsNotFound(err):
		r.pool.Drop(p.name.String())
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("read TenantRegistry %s: %w", p.name, err)
	case moving.Held(obj) != "":
		r.pool.Drop(p.name.String())
		return ctrl.Result{}, r.leaveMoved(ctx, obj)
	case !obj.DeletionTimestamp.IsZero():
		r.pool.Drop(p.name.String())
		p.leaving = obj
	default:
		p.obj, p.before = obj.DeepCopy(), obj.DeepCopy()
		// 1. Take the last reading, and begin the next one if it is time.
		r.consult(p)
	}
	// 2. Gather and decide.
	if err := r.gather(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.release(ctx, p); err != nil {
		return reconciling.Again(client.IgnoreNotFound(err))
	}
	if p.obj == nil && len(p.tenants) == 0 {
		r.ledger.forget(p.name)
		r.Findings.Forget(p.name)
		return ctrl.Result{}, nil
	}
	p.decision = decide.Registry(r.facts(p))
	if err := r.noteConfirmation(ctx, p); err != nil {
		return reconciling.Again(client.IgnoreNotFound(err))
	}
	// 3. Act.
	if err := r.carryOut(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	r.tellTemplates(p)
	// 4. Record.
	return r.record(ctx, p)
}

// leaveMoved leaves a registry that another home works on alone. Its deletion keeps its tenants.
func (r *Controller) leaveMoved(ctx context.Context, obj *tenantv1.TenantRegistry) error {
	if obj.DeletionTimestamp.IsZero() {
		p := &pass{name: client.ObjectKeyFromObject(obj), obj: obj.DeepCopy(), before: obj.DeepCopy()}
		passes.SetMoved(p.obj, tenantv1.ConditionReady)
		return client.IgnoreNotFound(r.patch(ctx, p))
	}
	if !slices.Contains(obj.Finalizers, tenantv1.PublishedRegistryFinalizer) {
		return nil
	}
	patched := obj.DeepCopy()
	patched.Finalizers = slices.DeleteFunc(patched.Finalizers, func(f string) bool { return f == tenantv1.PublishedRegistryFinalizer })
	return client.IgnoreNotFound(r.Client.Patch(ctx, patched, reconciling.ChangeOf(obj)))
}

// release removes the finalizer of the published operator. As long as tenants would be deleted with
// the registry, it stays.
func (r *Controller) release(ctx context.Context, p *pass) error {
	obj := p.leaving
	if obj == nil || !slices.Contains(obj.Finalizers, tenantv1.PublishedRegistryFinalizer) {
		return nil
	}
	for _, t := range p.tenants {
		if ownedByRegistry(t) {
			return nil
		}
	}
	patched := obj.DeepCopy()
	patched.Finalizers = slices.DeleteFunc(patched.Finalizers, func(f string) bool { return f == tenantv1.PublishedRegistryFinalizer })
	if err := r.Client.Patch(ctx, patched, reconciling.ChangeOf(obj)); err != nil {
		return fmt.Errorf("set the finalizers of TenantRegistry %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	return nil
}

// consult takes the last reading, and begins the next one if it is time.
func (r *Controller) consult(p *pass) {
	if p.fresh = r.ledger.take(p.account); p.fresh && p.account.good != nil {
		r.Findings.Sample(p.name, p.account.good.samples())
	}
	if last := p.account.last; last != nil && last.uid == p.obj.UID && last.generation == p.obj.Generation {
		p.reading = last
	}
	if r.ledger.begin(p.account, p.obj, p.now) {
		r.readBeside(p.name, p.account, p.obj.DeepCopy())
	}
}

// noteConfirmation records the confirmation of a deletion before anything is deleted, so that a
// server that ends during the deletion continues it after a restart.
func (r *Controller) noteConfirmation(ctx context.Context, p *pass) error {
	h := p.decision.Held
	if p.obj == nil || h == nil || !h.Confirmed || p.before.Status.Held != nil && p.before.Status.Held.Confirmed {
		return nil
	}
	r.describeHold(p)
	return r.patch(ctx, p)
}

// The pauses before another pass over outdated tenants: the cache is updated in a moment.
const (
	staleWrite   = 50 * time.Millisecond
	longestStale = 5 * time.Second
)

// retry is when to retry failed writes of tenants; the zero time without failed writes.
func (p *pass) retry(now time.Time) time.Time {
	if !p.stale {
		p.account.stale = 0
		return p.refusedUntil
	}
	pause := passes.Backoff(staleWrite, longestStale, p.account.stale)
	p.account.stale++
	return times.Earlier(p.refusedUntil, now.Add(pause))
}

// record writes the registry's status, and returns when the next pass is due.
func (r *Controller) record(ctx context.Context, p *pass) (ctrl.Result, error) {
	next := times.Earlier(times.Earlier(p.decision.NextCheck, p.unheard), p.retry(r.Now()))
	if p.more {
		next = r.Now()
	}
	if h := p.decision.Held; h != nil && !h.Confirmed {
		next = times.Earlier(next, p.recentUntil)
	}
	if p.obj != nil {
		r.describe(p)
		if err := r.patch(ctx, p); err != nil {
			return reconciling.Again(client.IgnoreNotFound(err))
		}
		next = times.Earlier(next, r.ledger.nextLook(p.account, p.obj, r.Now()))
	}
	return r.Until(next), nil
}

// patch writes the status of a registry if it differs.
func (r *Controller) patch(ctx context.Context, p *pass) error {
	if equality.Semantic.DeepEqual(p.obj.Status, p.before.Status) {
		return nil
	}
	if err := r.PatchStatus(ctx, p.before, p.obj); err != nil {
		return fmt.Errorf("write the status of TenantRegistry %s: %w", p.name, err)
	}
	p.before = p.obj.DeepCopy()
	return nil
}

// describe sets the status of the registry, without writing it.
func (r *Controller) describe(p *pass) {
	s := &p.obj.Status
	s.ReferencingTemplates = int32(len(p.templates)) //nolint:gosec // they fit into memory
	s.Ready, s.Failed = 0, 0
	for _, t := range p.tenants {
		switch stand := passes.StandingOf(t); {
		case stand.Ready:
			s.Ready++
		case stand.Failed:
			s.Failed++
		}
	}
	last := p.reading
	if last != nil || p.decision.Held != nil || s.Held != nil {
		r.describeHold(p)
	}
	if last == nil {
		return
	}
	s.ObservedGeneration = p.obj.Generation
	if !p.stale && !p.more {
		s.LastHandledReconcileAt = last.asked
	}
	if last.err != nil {
		r.describeFailure(p, last)
		return
	}
	s.Desired = int32(p.decision.Desired) //nolint:gosec // rows are bounded
	s.LastSync = syncOf(p.account)
	r.tellRejected(p)
	message := fmt.Sprintf("%s, %d of them active; %s", decide.Count(last.total, "row", "rows"), last.active(), decide.Count(len(p.templates), "template", "templates"))
	if n := len(last.rejected); n > 0 {
		message += fmt.Sprintf("; %s left out (status.lastSync.rejected)", decide.Count(n, "row was", "rows were"))
	}
	message += graceText(p.decision.Grace)
	if last.deaf != "" {
		message += "; until the database can notify of changes, they are seen only at the next interval: " + last.deaf
	}
	passes.SetCondition(p.obj, tenantv1.ConditionReady, metav1.ConditionTrue, tenantv1.ReasonDatabaseConnected, message)
}

// unread is why the rows of a registry are unknown; empty if they are known.
func (p *pass) unread() string {
	switch {
	case p.obj != nil && p.reading == nil:
		return "they have not been read since the registry was created, or since this server was started"
	case p.obj != nil && p.reading.err != nil:
		return passes.OneLine(p.reading.err.Error())
	}
	return ""
}

// graceText is about the tenants in their grace period, and the first to be deleted.
func graceText(waiting []decide.Going) string {
	if len(waiting) == 0 {
		return ""
	}
	first := slices.MinFunc(waiting, func(a, b decide.Going) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Tenant, b.Tenant)) })
	return fmt.Sprintf("; %s no active row: %s will be deleted at %s", decide.Count(len(waiting), "tenant has", "tenants have"), first.Tenant, first.At.UTC().Format(time.RFC3339))
}

// describeFailure says why the rows could not be read. It contains times, not durations, so that it
// changes once for each attempt.
func (r *Controller) describeFailure(p *pass, last *reading) {
	since := "They have not been read since this server was started"
	if p.account.good != nil && p.account.good.uid == p.obj.UID {
		since = "They were last read at " + p.account.good.at.UTC().Format(time.RFC3339)
	}
	message := fmt.Sprintf("%s. %s, and nothing changes until they can be read again. The next attempt is at %s, or now with \"yuba reconcile tenantregistry %s -n %s\"",
		passes.OneLine(last.err.Error()), since, p.account.nextReading(p.obj.Spec.Source.Interval()).UTC().Format(time.RFC3339), p.obj.Name, p.obj.Namespace)
	reason := failureReason(last.err)
	if conditions.Of(p.before, tenantv1.ConditionReady).Reason != reason {
		r.Event(p.obj, corev1.EventTypeWarning, tenantv1.EventDatabaseQueryFailed, message)
	}
	passes.SetCondition(p.obj, tenantv1.ConditionReady, metav1.ConditionFalse, reason, message)
}

// syncOf is the status of the last reading.
func syncOf(a *account) *tenantv1.SyncStatus {
	at := metav1.NewTime(a.sameSince.Truncate(time.Second))
	return &tenantv1.SyncStatus{ChangedAt: &at, Rows: int32(a.good.total), Active: int32(a.good.active()), //nolint:gosec // rows are bounded
		Rejected: a.good.told, RejectedRows: int32(len(a.good.rejected))} //nolint:gosec // rows are bounded
}

// tellRejected reports rejected rows when they change. After a restart the time of the last change
// is unknown; the recorded one stays while the rest is the same.
func (r *Controller) tellRejected(p *pass) {
	now, before := p.obj.Status.LastSync, p.before.Status.LastSync
	if before != nil && before.Rows == now.Rows && before.Active == now.Active && slices.Equal(before.Rejected, now.Rejected) &&
		before.RejectedRows == now.RejectedRows && p.account.sameSince.Equal(p.account.firstGood) {
		now.ChangedAt = before.ChangedAt
	}
	if now.RejectedRows > 0 && (before == nil || !slices.Equal(before.Rejected, now.Rejected)) {
		r.Event(p.obj, corev1.EventTypeWarning, tenantv1.EventRowsRejected, fmt.Sprintf("%s left out: %s", decide.Count(int(now.RejectedRows), "row was", "rows were"), firstOf(now.Rejected)))
	}
}

// firstOf returns the first text, and whether there are others.
func firstOf(texts []string) string {
	if len(texts) > 1 {
		return texts[0] + "; and others"
	}
	return strings.Join(texts, "")
}

// describeHold sets the condition about a deletion that waits for confirmation.
func (r *Controller) describeHold(p *pass) {
	s, before := &p.obj.Status, p.before.Status.Held
	s.Held = heldOf(p.decision.Held)
	h := s.Held
	if h == nil || h.Confirmed {
		passes.SetCondition(p.obj, tenantv1.ConditionHeld, metav1.ConditionFalse, tenantv1.ReasonNothingHeld, "no deletion is held")
		if h != nil && (before == nil || !before.Confirmed) {
			r.Event(p.obj, corev1.EventTypeNormal, tenantv1.EventDeletionConfirmed, fmt.Sprintf("the deletion %s of %s continues: it was confirmed", h.ID, decide.Count(int(h.Count), "tenant", "tenants")))
		}
		return
	}
	message := fmt.Sprintf("%s. They stay until this is confirmed:\n    yuba tenant confirm %s -n %s", h.Message, p.obj.Name, p.obj.Namespace)
	passes.SetCondition(p.obj, tenantv1.ConditionHeld, metav1.ConditionTrue, tenantv1.ReasonDeletionHeld, message)
	// If rows disappear one by one, each changes the hold: report it again at twice the size.
	if before != nil && before.ID == h.ID && p.account.heldTold == 0 {
		p.account.heldTold = int(h.Count) // reported before the server was restarted
	}
	if before == nil || before.Confirmed || int(h.Count) >= 2*p.account.heldTold {
		p.account.heldTold = int(h.Count)
		r.Event(p.obj, corev1.EventTypeWarning, tenantv1.EventDeletionHeld, message)
	}
}
