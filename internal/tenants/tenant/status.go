// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/targets"
)

// facts are the input of the decision.
func (p *pass) facts(r *Controller) decide.TenantFacts {
	now := r.Now()
	f := decide.TenantFacts{Now: now, RegistryGone: p.registryGone}
	for _, it := range p.items {
		f.Objects = append(f.Objects, p.objectFacts(r, it, now))
	}
	return f
}

func (p *pass) objectFacts(r *Controller, it *item, now time.Time) decide.Object {
	o := decide.Object{ID: it.id, Name: it.name(), Once: it.resource.CreationPolicy == tenantv1.CreationPolicyOnce,
		Force: it.resource.ConflictPolicy == tenantv1.ConflictPolicyForce, Skips: it.resource.SkipsOnFailure(), Waits: it.resource.WaitsForReady(),
		Timeout: it.resource.Timeout(), Broken: it.broken}
	if it.broken != "" {
		return o
	}
	for _, e := range p.plan.graph.Needs(it.id) {
		o.Needs = append(o.Needs, decide.Need{ID: e.To, Ready: e.Ready})
	}
	for _, id := range it.missing {
		o.Needs = append(o.Needs, decide.Need{ID: id, Ready: true})
	}
	l := &o.Live
	l.Exists, l.Ready, l.Failed, l.Message = it.exists(), it.readiness.Ready, it.readiness.Failed, it.readiness.Message
	l.AsLeft, l.Ours, l.Marked = it.asLeft(), l.Exists, l.Exists
	l.SameManifest = it.sameManifest()
	l.OnceDone = l.Exists && it.known != nil
	if it.live != nil {
		l.Deleting, l.Ours, l.Marked = it.live.DeletionTimestamp != nil, p.marks(it.cluster).Ours(it.live), p.marks(it.cluster).Marked(it.live, it.manifest)
		l.OnceDone = it.live.Annotations[tenantv1.AnnotationCreatedOnce] == tenantv1.ValueTrue
		if !l.Ours && it.took() {
			l.Owner = p.marks(it.cluster).Holder(it.live)
			l.Lost = l.Owner != ""
		} else if !l.Ours {
			l.Owner = p.marks(it.cluster).Foreign(it.live, it.manifest)
		}
	}
	p.calm(it, l, now)
	if l.Exists && !l.Ready {
		l.Since = p.since(it, now)
	}
	if f := it.refused; f != nil && now.Before(f.Due()) {
		if f.Owner != "" {
			l.Exists, l.Ours, l.Owner = true, false, f.Owner
			// Adopting it was tried and failed.
			o.Force = false
		} else {
			o.Refused = f.Message
		}
	}
	return o
}

// calm delays undoing changes that somebody repeats.
func (p *pass) calm(it *item, l *decide.Live, now time.Time) {
	due := p.memory.quarrels[it.id].due()
	if !l.Exists || !l.Ours || !l.SameManifest || l.AsLeft && l.Marked || !now.Before(due) {
		return
	}
	l.AsLeft, l.Marked, l.OnceDone = true, true, l.OnceDone || it.resource.CreationPolicy == tenantv1.CreationPolicyOnce
	p.next = times.Earlier(p.next, due)
	p.tell(it.id+" quarrel", corev1.EventTypeWarning, tenantv1.EventResourceConflict, fmt.Sprintf("%s: another client keeps changing %s. Yuba restores it, but less and less often; "+
		"list the fields in ignoreFields, or find the client with kubectl get --show-managed-fields", it.id, it.name()))
}

// tell reports a text once, until another one replaces it.
func (p *pass) tell(about, kind, reason, text string) {
	if p.memory.told[about] == reason+text {
		return
	}
	p.memory.told[about] = reason + text
	p.news = append(p.news, news{kind, reason, text})
}

// name is an object's kind and name, for people.
func (it *item) name() string {
	if it.manifest == nil {
		return it.id
	}
	return it.ref.GroupKind.Kind + " " + it.ref.Name
}

// since is when an object began to exist without being ready.
func (p *pass) since(it *item, now time.Time) time.Time {
	if it.changed {
		return now
	}
	for _, w := range p.obj.Status.Waiting {
		if w.ID == it.id && w.Since != nil && lingering[w.Reason] {
			return w.Since.Time
		}
	}
	return now
}

// Reasons in a tenant's status.waiting: why an object is not ready.
const (
	// WaitDependency: its dependencies are not ready. WaitNotReady: it exists and is not ready.
	WaitDependency = "Dependency"
	WaitNotReady   = "NotReady"
	// WaitConflict: it has another owner.
	WaitConflict = "Conflict"
	// WaitTimeout: it was not ready in time. WaitFailed: it reports a failure.
	WaitTimeout = "Timeout"
	WaitFailed  = "Failed"
	// WaitSkipped: a dependency has failed.
	WaitSkipped = "Skipped"
	// WaitBroken: it has no manifest. WaitRefused: the API refused it.
	WaitBroken  = "Broken"
	WaitRefused = "Refused"
	// WaitWriting: a write is in progress. WaitLeaving: it is no longer in the template, and
	// cannot be removed yet.
	WaitWriting = "Writing"
	WaitLeaving = "Leaving"
)

// lingering are the reasons of objects that exist.
var lingering = map[string]bool{WaitNotReady: true, WaitTimeout: true, WaitFailed: true}

var waitReasons = map[decide.Verb]string{
	decide.VerbLeave: WaitNotReady, decide.VerbWait: WaitDependency, decide.VerbConflict: WaitConflict, decide.VerbTimeout: WaitTimeout,
	decide.VerbCreate: WaitWriting, decide.VerbWrite: WaitWriting, decide.VerbAdopt: WaitWriting, decide.VerbSkip: WaitSkipped, decide.VerbBroken: WaitBroken, decide.VerbRefused: WaitRefused, decide.VerbFailed: WaitFailed,
}

// describe sets the status from the last decision, and collects the events and the time of the next
// pass.
func (p *pass) describe() {
	d, s := &p.decision, &p.obj.Status
	s.DesiredResources, s.ReadyResources = int32(d.Desired), int32(d.ReadyCount) //nolint:gosec // templates are bounded
	s.FailedResources, s.SkippedResources = int32(d.Failed), int32(d.Skipped)    //nolint:gosec // templates are bounded
	s.SkippedResourceIds, s.Inventory = nil, p.inventory(false)
	s.AppliedResources = appliedNames(s.Inventory)
	var waiting []tenantv1.WaitingResource
	changed := false
	for i, od := range d.Objects {
		it := p.items[i]
		changed = changed || it.changed
		p.next = times.Earlier(p.next, od.NextCheck)
		if it.refused != nil && (od.Verb == decide.VerbRefused || od.Verb == decide.VerbConflict) {
			p.next = times.Earlier(p.next, it.refused.Due())
		}
		if od.Verb == decide.VerbSkip {
			s.SkippedResourceIds = append(s.SkippedResourceIds, od.ID)
		}
		p.tellObject(it, od)
		if !od.Ready {
			w := tenantv1.WaitingResource{ID: od.ID, Reason: waitReasons[od.Verb], Message: passes.OneLine(od.Message)}
			w.Since = p.waitingSince(w, it)
			waiting = append(waiting, w)
		}
	}
	s.Waiting = append(waiting, p.leaving...)
	p.next = times.Earlier(p.next, d.NextCheck)
	if slices.ContainsFunc(p.items, func(it *item) bool { return it.broken != "" && it.manifest != nil }) {
		p.next = times.Earlier(p.next, p.now.Add(targets.Pause(p.targetErr)))
	}
	was := apimeta.IsStatusConditionTrue(p.before.Status.Conditions, tenantv1.ConditionReady)
	p.conditions()
	// A tenant that recovers automatically is not news about its template.
	p.memory.unsettled = changed || p.memory.unsettled && !was
	if p.memory.unsettled && (changed || d.Ready.True) {
		p.tellApplied()
	}
}

// waitingSince keeps the start of an unchanged wait.
func (p *pass) waitingSince(w tenantv1.WaitingResource, it *item) *metav1.Time {
	for _, before := range p.before.Status.Waiting {
		same := before.Reason == w.Reason || lingering[before.Reason] && lingering[w.Reason]
		if before.ID == w.ID && same && before.Since != nil && (it == nil || !it.changed) {
			return before.Since.DeepCopy()
		}
	}
	now := metav1.NewTime(p.now.Truncate(time.Second))
	return &now
}

// eventReasons are the events about objects, by verb.
var eventReasons = map[decide.Verb]string{
	decide.VerbConflict: tenantv1.EventResourceConflict, decide.VerbRefused: tenantv1.EventApplyFailed, decide.VerbTimeout: tenantv1.EventReadinessTimeout,
	decide.VerbBroken: tenantv1.EventTemplateRenderError, decide.VerbSkip: tenantv1.EventDependencySkipped, decide.VerbFailed: tenantv1.EventTemplateAppliedPartial,
}

// tellObject records an object's event unless it is a repetition.
func (p *pass) tellObject(it *item, od decide.ObjectDecision) {
	reason, message := eventReasons[od.Verb], passes.OneLine(od.Message)
	if reason == "" {
		delete(p.memory.told, it.id)
		return
	}
	text := it.id + ": " + message
	// After a restart, the status has what was recorded.
	if slices.ContainsFunc(p.before.Status.Waiting, func(w tenantv1.WaitingResource) bool {
		return w.ID == it.id && w.Reason == waitReasons[od.Verb] && w.Message == message
	}) {
		p.memory.told[it.id] = reason + text
	}
	p.tell(it.id, corev1.EventTypeWarning, reason, text)
}

// tellApplied reports written objects once all are ready or some have failed. Events are writes: a
// thousand tenants on their way need none.
func (p *pass) tellApplied() {
	d := &p.decision
	text := fmt.Sprintf("TenantTemplate %s (generation %s) is in place: %d of %d objects are ready", p.obj.Spec.TemplateRef,
		p.obj.Annotations[tenantv1.AnnotationTemplateGeneration], d.ReadyCount, d.Desired)
	switch {
	case d.Failed > 0:
		p.news = append(p.news, news{corev1.EventTypeWarning, tenantv1.EventTemplateAppliedPartial, fmt.Sprintf("%s, %d failed", text, d.Failed)})
	case d.ReadyCount == d.Desired:
		p.memory.unsettled = false
		p.news = append(p.news, news{"", tenantv1.EventTemplateAppliedSuccess, text})
	}
}

// conditions sets the tenant's conditions.
func (p *pass) conditions() {
	d := &p.decision
	for kind, c := range map[string]decide.Condition{tenantv1.ConditionReady: d.Ready, tenantv1.ConditionProgressing: d.Progressing,
		tenantv1.ConditionConflicted: d.Conflict, tenantv1.ConditionDegraded: d.Degraded} {
		status := metav1.ConditionFalse
		if c.True {
			status = metav1.ConditionTrue
		}
		if kind == tenantv1.ConditionReady && !c.True {
			c.Message += p.firstTrouble(c.Message)
		}
		passes.SetCondition(p.obj, kind, status, c.Reason, c.Message)
	}
	// The order must be stable; a map has none.
	slices.SortStableFunc(p.obj.Status.Conditions, func(a, b metav1.Condition) int { return conditionOrder[a.Type] - conditionOrder[b.Type] })
}

// maxTrouble limits the repeated part of an object's own message.
const maxTrouble = 200

// firstTrouble is the message of the first object that is not ready, unless said contains it.
func (p *pass) firstTrouble(said string) string {
	for _, w := range p.obj.Status.Waiting {
		if w.Message == "" || strings.Contains(said, w.Message) || w.Reason == WaitDependency || w.Reason == WaitSkipped || w.Reason == WaitLeaving || w.Reason == WaitConflict {
			continue
		}
		return fmt.Sprintf(". %s: %s", w.ID, shorten.Cut(w.Message, maxTrouble))
	}
	return ""
}

var conditionOrder = map[string]int{tenantv1.ConditionReady: 0, tenantv1.ConditionProgressing: 1, tenantv1.ConditionConflicted: 2, tenantv1.ConditionDegraded: 3}

func setProgressing(obj *tenantv1.Tenant) {
	passes.SetCondition(obj, tenantv1.ConditionProgressing, metav1.ConditionTrue, tenantv1.ReasonReconciling, "objects are being written")
}

// cannotBegin reports why there is nothing to do; existing objects stay.
func (r *Controller) cannotBegin(ctx context.Context, p *pass) (ctrl.Result, error) {
	reason, message := tenantv1.ReasonDependencyCycle, p.plan.cycle
	if p.plan.invalid != "" {
		reason, message = tenantv1.ReasonVariablesBuildError, p.plan.invalid
	}
	p.obj.Status.ReadyResources, p.obj.Status.Waiting = 0, nil
	if c := conditions.Of(p.before, tenantv1.ConditionReady); c.Reason != reason || c.Message != message {
		p.news = append(p.news, news{corev1.EventTypeWarning, tenantv1.EventTemplateRenderError, message})
	}
	passes.SetCondition(p.obj, tenantv1.ConditionReady, metav1.ConditionFalse, reason, message)
	passes.SetCondition(p.obj, tenantv1.ConditionProgressing, metav1.ConditionFalse, tenantv1.ReasonReconcileComplete, "nothing is in progress")
	passes.SetCondition(p.obj, tenantv1.ConditionDegraded, metav1.ConditionTrue, tenantv1.ReasonResourceFailures, message)
	return r.record(ctx, p)
}

// patchTenant writes a changed status.
func (r *Controller) patchTenant(ctx context.Context, p *pass) error {
	if equality.Semantic.DeepEqual(p.obj.Status, p.before.Status) {
		return nil
	}
	if err := r.PatchStatus(ctx, p.before, p.obj); err != nil {
		return r.tellRefused(ctx, p, err)
	}
	p.before = p.obj.DeepCopy()
	return nil
}

// tellRefused reports a refused status, most likely a too large one, in a smaller status.
func (r *Controller) tellRefused(ctx context.Context, p *pass, err error) error {
	if apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "too large") {
		short := p.before.DeepCopy()
		passes.SetCondition(short, tenantv1.ConditionReady, metav1.ConditionFalse, tenantv1.ReasonResourcesFailed,
			"the status, which lists each object, cannot be written, so Yuba creates no more objects. Split the template: "+passes.OneLine(err.Error()))
		if shortErr := r.PatchStatus(ctx, p.before, short); shortErr != nil {
			r.Log.Error("cannot report a refused status", "tenant", p.owner.String(), "error", shortErr)
		}
	}
	return fmt.Errorf("write the status of Tenant %s: %w", p.owner, err)
}
