// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/rollout"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// tenantWrites is how many tenants are written at a time: the API's store syncs them together.
const tenantWrites = 12

// change is a write to a tenant.
type change struct {
	tenant string
	// kind is what it does, in words; empty for changes without an event.
	kind string
	// template is the template whose status reports a failure. key identifies the written
	// object: a different one is tried at once.
	template, key string
	do            func(context.Context) error
}

// admit adds a change, unless the same was refused a moment ago.
func (p *pass) admit(changes []change, c change) []change {
	name := c.kind + " " + c.tenant
	p.tried[name] = true
	if f := p.account.refused[name]; f != nil && f.Digest == c.key && p.now.Before(f.Due()) {
		p.refuse(c, f)
		return changes
	}
	return append(changes, c)
}

// refuse records a change that cannot be made now.
func (p *pass) refuse(c change, f *passes.Refusal) {
	p.refusedUntil = times.Earlier(p.refusedUntil, f.Due())
	if c.template != "" {
		p.unmake(c.template, c.tenant, f.Message)
	}
}

// The kinds of changes. Events report the first three.
const (
	kindMade     = "made"
	kindChanged  = "changed"
	kindDeleted  = "deleted"
	kindDisowned = "disowned"
)

// carryOut creates, changes and deletes tenants. One that cannot be written does not affect others.
func (r *Controller) carryOut(ctx context.Context, p *pass) error {
	if changes := r.disownings(p); len(changes) > 0 {
		err := r.carry(ctx, p, changes)
		p.more = !p.stale
		return err
	}
	changes := r.updates(p, r.creations(p))
	for _, name := range p.decision.Mark {
		changes = p.admit(changes, r.annotating(p, name, map[string]any{tenantv1.AnnotationInactiveSince: p.now.UTC().Format(time.RFC3339)}))
	}
	for _, name := range p.decision.Unmark {
		changes = p.admit(changes, r.annotating(p, name, map[string]any{tenantv1.AnnotationInactiveSince: nil}))
	}
	for _, going := range p.decision.Delete {
		with := p.admit(changes, r.deleting(p, going))
		if going.Reread && len(with) > len(changes) {
			r.ledger.want(p.account)
			continue
		}
		changes = with
	}
	if !p.more {
		maps.DeleteFunc(p.account.refused, func(name string, _ *passes.Refusal) bool { return !p.tried[name] })
	}
	return r.carry(ctx, p, changes)
}

// carry makes changes, several at a time.
func (r *Controller) carry(ctx context.Context, p *pass, changes []change) error {
	if len(changes) == 0 {
		return nil
	}
	defer r.Writing()()
	g := errgroup.Group{}
	g.SetLimit(tenantWrites)
	errs := make([]error, len(changes))
	for i, c := range changes {
		g.Go(func() error {
			errs[i] = c.do(ctx)
			return nil
		})
	}
	_ = g.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	done := map[string]int{}
	for i, c := range changes {
		if errs[i] == nil {
			done[c.kind]++
		}
		r.judge(p, c, errs[i])
	}
	r.tellChanges(p, done)
	return nil
}

// judge records the result of a write.
func (r *Controller) judge(p *pass, c change, err error) {
	name := c.kind + " " + c.tenant
	switch {
	case err == nil:
		delete(p.account.refused, name)
	case apierrors.IsConflict(err):
		p.stale = true // the next pass follows soon
	case apierrors.IsNotFound(err):
		p.stale = true
		delete(p.account.overlay, c.tenant)
	default:
		r.Log.Error("cannot write a tenant", "registry", p.name.String(), "tenant", c.tenant, "error", err)
		f := passes.Refuse(p.account.refused[name], c.key, err, r.Now())
		p.account.refused[name] = f
		p.refuse(c, f)
	}
}

// tellChanges records one event for all changes.
func (r *Controller) tellChanges(p *pass, done map[string]int) {
	var parts []string
	for _, kind := range []string{kindMade, kindChanged, kindDeleted} {
		if n := done[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if p.obj == nil || len(parts) == 0 {
		return
	}
	text := "tenants: " + strings.Join(parts, ", ")
	if n := len(p.account.refused); n > 0 {
		text += fmt.Sprintf("; %d could not be written, and will be retried", n)
	}
	r.Event(p.obj, corev1.EventTypeNormal, tenantv1.EventDataUpdated, text)
}

// mostAtOnce limits the tenants in memory that one pass creates and changes.
const mostAtOnce = 1000

// creations returns the tenants of new rows. It renders them one by one, because integers are
// allocated in their order.
func (r *Controller) creations(p *pass) []change {
	var changes []change
	taken := map[string]bool{}
	for _, c := range p.decision.Create {
		if p.more = len(changes) >= mostAtOnce; p.more {
			break
		}
		template, of := p.templates[c.Template], p.rows[c.UID]
		if template == nil || of == nil {
			continue
		}
		// Two pairs of uid and template can have one name: a-b with c, and a with b-c.
		name := row.TenantName(of.SafeUID, template.Name)
		if taken[name] || p.tenants[name] != nil || r.isTaken(p, name) {
			name = row.OtherTenantName(of.SafeUID, template.Name)
		}
		taken[name] = true
		fresh := &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: p.name.Namespace, Name: name}}
		want, err := r.want(p, template, of, fresh)
		if err != nil {
			p.unmake(template.Name, of.SafeUID, err.Error())
			continue
		}
		changes = p.admit(changes, change{tenant: want.Name, kind: kindMade, template: template.Name, key: p.keyOf(template, of), do: func(ctx context.Context) error {
			if err := r.Client.Create(ctx, want); err != nil {
				return fmt.Errorf("create Tenant %s/%s: %w", want.Namespace, want.Name, err)
			}
			r.wroteTenant(p, want, true)
			return nil
		}})
	}
	return changes
}

// keyOf identifies a template with a row.
func (p *pass) keyOf(template *tenantv1.TenantTemplate, of *row.Row) string {
	return fmt.Sprintf("%s %d %s", template.UID, template.Generation, p.account.good.digests[of.SafeUID])
}

// isTaken reports whether another registry's tenant has the name.
func (r *Controller) isTaken(p *pass, name string) bool {
	return r.Cached.Get(r.Base, types.NamespacedName{Namespace: p.name.Namespace, Name: name}, &tenantv1.Tenant{}) == nil
}

func (p *pass) unmake(template, tenant, why string) {
	if p.unmade[template] == nil {
		p.unmade[template] = map[string]string{}
	}
	p.unmade[template][tenant] = passes.OneLine(why)
}

func (r *Controller) wroteTenant(p *pass, t *tenantv1.Tenant, created bool) {
	r.Fresh.Wrote(t)
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	p.account.wrote(t, created, r.Now())
}

// updates adds the changes of tenants to the other changes of the pass.
func (r *Controller) updates(p *pass, changes []change) []change {
	for _, u := range p.decision.Update {
		if p.more = p.more || len(changes) >= mostAtOnce; p.more {
			break
		}
		now := p.tenants[u.Tenant]
		if now == nil {
			continue
		}
		of := p.rows[now.Spec.UID]
		if of == nil {
			continue
		}
		if now.Status.ObservedGeneration == 0 && passes.SpecIsInventory(&now.Spec) {
			continue // its spec and values are its inventory until its first pass records one
		}
		if u.ValuesOnly {
			values := map[string]any{}
			for name, value := range render.Annotations(*of) {
				values[name] = value
			}
			valued := r.annotating(p, u.Tenant, values)
			valued.kind, valued.template, valued.key = kindChanged, now.Spec.TemplateRef, p.account.good.digests[of.SafeUID]
			changes = p.admit(changes, valued)
			continue
		}
		template := p.templates[now.Spec.TemplateRef]
		if template == nil {
			continue
		}
		want, err := r.want(p, template, of, now)
		if err != nil {
			p.unmake(template.Name, of.SafeUID, err.Error())
			continue
		}
		if u.Starts || !p.templateCurrent(now) {
			delete(want.Annotations, tenantv1.AnnotationRolloutStart)
			if u.Starts {
				want.Annotations[tenantv1.AnnotationRolloutStart] = p.now.UTC().Format(time.RFC3339)
			}
		}
		changes = p.admit(changes, change{tenant: u.Tenant, kind: kindChanged, template: template.Name, key: p.keyOf(template, of), do: func(ctx context.Context) error {
			if err := r.Client.Patch(ctx, want, changing(now, want)); err != nil {
				return fmt.Errorf("change Tenant %s/%s: %w", now.Namespace, now.Name, err)
			}
			r.wroteTenant(p, want, false)
			return nil
		}})
	}
	return changes
}

// changing returns the patch of a tenant. Only passes over the registry write these fields, so a
// concurrent write of the status is not a conflict. The list of finalizers has other writers.
func changing(now, want *tenantv1.Tenant) client.Patch {
	if equality.Semantic.DeepEqual(now.Finalizers, want.Finalizers) {
		return client.MergeFrom(now)
	}
	return reconciling.ChangeOf(now)
}

// templateCurrent reports whether a tenant has its template's generation.
func (p *pass) templateCurrent(t *tenantv1.Tenant) bool {
	template := p.templates[t.Spec.TemplateRef]
	return template != nil && t.Annotations[tenantv1.AnnotationTemplateGeneration] == fmt.Sprint(template.Generation)
}

// annotating changes only annotations of a tenant.
func (r *Controller) annotating(p *pass, name string, values map[string]any) change {
	return change{tenant: name, do: func(ctx context.Context) error {
		now := p.tenants[name]
		if now == nil {
			return nil
		}
		patched := &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: now.Namespace, Name: now.Name}}
		if err := engine.MergePatch(ctx, r.Client, tenantv1.FieldManager, patched, map[string]any{"metadata": map[string]any{"uid": now.UID, "annotations": values}}); err != nil {
			return fmt.Errorf("annotate Tenant %s/%s: %w", now.Namespace, now.Name, err)
		}
		r.wroteTenant(p, patched, false)
		return nil
	}}
}

// disownings remove the owner references to the registry, which the published operator set:
// deleting the registry would delete all its tenants and their objects.
func (r *Controller) disownings(p *pass) []change {
	var changes []change
	for _, name := range slices.Sorted(maps.Keys(p.tenants)) {
		now := p.tenants[name]
		if !ownedByRegistry(now) {
			continue
		}
		changes = p.admit(changes, change{tenant: name, kind: kindDisowned, do: func(ctx context.Context) error {
			free := now.DeepCopy()
			free.OwnerReferences = slices.DeleteFunc(free.OwnerReferences, isRegistry)
			if err := r.Client.Patch(ctx, free, reconciling.ChangeOf(now)); err != nil {
				return fmt.Errorf("remove the registry from the owners of Tenant %s/%s: %w", now.Namespace, name, err)
			}
			r.wroteTenant(p, free, false)
			return nil
		}})
	}
	return changes
}

func isRegistry(ref metav1.OwnerReference) bool { return ref.Kind == tenantv1.TenantRegistryKind }

// ownedByRegistry reports whether a tenant would be deleted with its registry.
func ownedByRegistry(t *tenantv1.Tenant) bool {
	return t.DeletionTimestamp == nil && slices.ContainsFunc(t.OwnerReferences, isRegistry)
}

func (r *Controller) deleting(p *pass, going decide.Going) change {
	return change{tenant: going.Tenant, kind: kindDeleted, do: func(ctx context.Context) error {
		now := p.tenants[going.Tenant]
		if now == nil {
			return nil
		}
		uid := now.UID
		gone := &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: now.Namespace, Name: now.Name}}
		err := r.Client.Delete(ctx, gone, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete Tenant %s/%s: %w", now.Namespace, now.Name, err)
		}
		r.Log.Info("deleted a tenant", "registry", p.name.String(), "tenant", now.Name, "because", going.Because)
		r.ledger.mu.Lock()
		defer r.ledger.mu.Unlock()
		p.account.deleted(now, r.Now())
		if h := p.decision.Held; (h == nil || !h.Confirmed) && !p.sure(now) {
			p.account.let[now.Spec.UID] = p.now
		}
		return nil
	}}
}

// sure reports whether the deletion was confirmed for the tenant's template.
func (p *pass) sure(t *tenantv1.Tenant) bool {
	template := p.templates[t.Spec.TemplateRef]
	return template != nil && template.DeletionTimestamp != nil && template.Annotations[tenantv1.AnnotationConfirmDeletion] == string(template.UID)
}

// tellTemplates records what templates report about their tenants, and requests their passes.
func (r *Controller) tellTemplates(p *pass) {
	for name, why := range p.broken {
		if t := p.tenants[name]; t != nil {
			p.unmake(t.Spec.TemplateRef, t.Labels[tenantv1.LabelUID], why)
		}
	}
	held := r.Findings.Hold(p.name, p.decision.Held)
	r.Findings.Keep(p.name, p.templates)
	for name, template := range p.templates {
		before := r.Findings.Told(p.name, template)
		now := passes.Told{UID: template.UID, Rollout: before.Rollout, Unmade: p.unmade[name], Unread: p.unread()}
		if d, decided := p.decision.Rollouts[name]; decided {
			now.Rollout = rolloutOf(template, r.rolloutBefore(p, template), d, p.now)
		} else if p.reading == nil || p.reading.err != nil {
			now.Unmade = before.Unmade // no attempt was made
		}
		// A template that is invalid for a made-up row may be valid for a real one.
		samples := p.fresh && !passes.Validated(template)
		same := before.UID == now.UID && before.Unread == now.Unread && equality.Semantic.DeepEqual(before.Rollout, now.Rollout) && maps.Equal(before.Unmade, now.Unmade)
		if same && !samples && (!held || template.DeletionTimestamp == nil) {
			continue
		}
		r.Findings.Tell(p.name, name, now)
		r.Templates.Add(types.NamespacedName{Namespace: p.name.Namespace, Name: name}, 0)
	}
}

// rolloutOf is the progress of a rollout for the template's status.
func rolloutOf(template *tenantv1.TenantTemplate, before *tenantv1.RolloutStatus, d rollout.Decision, now time.Time) *tenantv1.RolloutStatus {
	at := metav1.NewTime(now.Truncate(time.Second))
	s := &tenantv1.RolloutStatus{Phase: tenantv1.RolloutPhase(d.Phase), TargetGeneration: template.Generation, TotalTenants: int32(d.Total), //nolint:gosec // tenants are bounded
		UpdatedTenants: int32(d.Updated), UpdatingTenants: int32(d.Updating), ReadyUpdatedTenants: int32(d.ReadyUpdated), Message: d.Message} //nolint:gosec // tenants are bounded
	if s.Phase != tenantv1.RolloutIdle {
		began := metav1.NewTime(d.Began.Truncate(time.Second))
		s.StartTime = &began
	}
	if before != nil && before.TargetGeneration != template.Generation {
		before = nil
	}
	if s.Phase == tenantv1.RolloutComplete || s.Phase == tenantv1.RolloutFailed {
		s.CompletionTime = &at
		if before != nil && before.Phase == s.Phase && before.CompletionTime != nil {
			s.CompletionTime = before.CompletionTime
		}
	}
	return s
}
