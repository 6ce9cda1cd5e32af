// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
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
	"github.com/yuba-dev/yuba/internal/tenant/decide"
	"github.com/yuba-dev/yuba/internal/tenant/render"
	"github.com/yuba-dev/yuba/internal/tenant/row"
)

// tenantWrites is how many tenants are written at a time: what waits for the disk is written together.
const tenantWrites = 12

// change is a write to a tenant that is due.
type change struct {
	tenant string
	do     func(context.Context) error
}

// carryOut makes, changes and deletes tenants. One that cannot be written keeps no other one from it.
func (r *Tenants) carryOut(ctx context.Context, p *registryPass) error {
	changes := r.creations(p)
	changes = append(changes, r.updates(p)...)
	for _, name := range p.decision.Mark {
		changes = append(changes, r.annotating(p, name, map[string]any{tenantv1.AnnotationInactiveSince: p.now.UTC().Format(time.RFC3339)}))
	}
	for _, name := range p.decision.Unmark {
		changes = append(changes, r.annotating(p, name, map[string]any{tenantv1.AnnotationInactiveSince: nil}))
	}
	for _, going := range p.decision.Delete {
		changes = append(changes, r.deleting(p, going))
	}
	if len(changes) == 0 {
		return nil
	}
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
	for i, c := range changes {
		// A tenant that has changed meanwhile is looked at anew; one that is there already the cache will tell of.
		if err := errs[i]; err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
			r.Log.Error("writing a tenant", "registry", p.name.String(), "tenant", c.tenant, "error", err)
		}
		if errs[i] != nil {
			p.failed = append(p.failed, c.tenant)
		}
		if apierrors.IsNotFound(errs[i]) {
			delete(p.account.overlay, c.tenant)
		}
	}
	r.tellChanges(p)
	return nil
}

// tellChanges tells of what was done, in one event for all.
func (r *Tenants) tellChanges(p *registryPass) {
	d := p.decision
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{{len(d.Create), "made"}, {len(d.Update), "changed"}, {len(d.Delete), "deleted"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if p.obj == nil || len(parts) == 0 {
		return
	}
	text := "tenants: " + strings.Join(parts, ", ")
	if len(p.failed) > 0 {
		text += fmt.Sprintf(" (%d of these could not be written and are tried again)", len(p.failed))
	}
	r.event(p.obj, corev1.EventTypeNormal, tenantv1.EventDataUpdated, text)
}

// creations makes the tenants of new rows. Integers are given in their order, so that rendering is done one by one.
func (r *Tenants) creations(p *registryPass) []change {
	var changes []change
	taken := map[string]bool{}
	for _, c := range p.decision.Create {
		template, of := p.templates[c.Template], p.rowOf(c.UID)
		if template == nil || of == nil {
			continue
		}
		// Two pairs of uid and template can have one name: a-b with c, and a with b-c.
		name := row.TenantName(of.SafeUID, template.Name)
		if taken[name] || p.tenants[name] != nil {
			name = row.OtherTenantName(of.SafeUID, template.Name)
		}
		taken[name] = true
		fresh := &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: p.name.Namespace, Name: name}}
		want, err := r.want(p, template, of, fresh)
		if err != nil {
			p.unrender(template.Name, of.SafeUID, err.Error())
			continue
		}
		changes = append(changes, change{tenant: want.Name, do: func(ctx context.Context) error {
			if err := r.Client.Create(ctx, want); err != nil {
				return fmt.Errorf("make Tenant %s/%s: %w", want.Namespace, want.Name, err)
			}
			r.wroteTenant(p, want, true)
			return nil
		}})
	}
	return changes
}

func (p *registryPass) unrender(template, tenant, why string) {
	if p.unrendered[template] == nil {
		p.unrendered[template] = map[string]string{}
	}
	p.unrendered[template][tenant] = oneLine(why)
}

func (r *Tenants) wroteTenant(p *registryPass, t *tenantv1.Tenant, created bool) {
	r.fresh.Wrote(t)
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	p.account.wrote(t, created)
}

// updates brings tenants to their rows and templates.
func (r *Tenants) updates(p *registryPass) []change {
	var changes []change
	for _, u := range p.decision.Update {
		now := p.tenants[u.Tenant]
		if now == nil {
			continue
		}
		of := p.rowOf(now.Spec.UID)
		if of == nil {
			continue
		}
		if u.ValuesOnly {
			values := map[string]any{}
			for name, value := range render.Annotations(*of) {
				values[name] = value
			}
			changes = append(changes, r.annotating(p, u.Tenant, values))
			continue
		}
		want := p.wants[u.Tenant]
		if template := p.templates[now.Spec.TemplateRef]; want == nil && template != nil {
			var err error
			if want, err = r.want(p, template, of, now); err != nil {
				p.unrender(template.Name, of.SafeUID, err.Error())
				continue
			}
		}
		if want == nil {
			continue
		}
		if !p.templateCurrent(now) {
			delete(want.Annotations, tenantv1.AnnotationRolloutStart)
			if u.Starts {
				want.Annotations[tenantv1.AnnotationRolloutStart] = p.now.UTC().Format(time.RFC3339)
			}
		}
		changes = append(changes, change{tenant: u.Tenant, do: func(ctx context.Context) error {
			if err := r.Client.Patch(ctx, want, client.MergeFromWithOptions(now, client.MergeFromWithOptimisticLock{})); err != nil {
				return fmt.Errorf("change Tenant %s/%s: %w", now.Namespace, now.Name, err)
			}
			r.wroteTenant(p, want, false)
			return nil
		}})
	}
	return changes
}

// templateCurrent tells whether a tenant has its template's generation.
func (p *registryPass) templateCurrent(t *tenantv1.Tenant) bool {
	template := p.templates[t.Spec.TemplateRef]
	return template != nil && t.Annotations[tenantv1.AnnotationTemplateGeneration] == fmt.Sprint(template.Generation)
}

// annotating changes annotations of a tenant only.
func (r *Tenants) annotating(p *registryPass, name string, values map[string]any) change {
	return change{tenant: name, do: func(ctx context.Context) error {
		now := p.tenants[name]
		if now == nil {
			return nil
		}
		patched := &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: now.Namespace, Name: now.Name}}
		if err := mergePatch(ctx, &cluster{client: r.Client}, patched, map[string]any{"metadata": map[string]any{"uid": now.UID, "annotations": values}}); err != nil {
			return fmt.Errorf("annotate Tenant %s/%s: %w", now.Namespace, now.Name, err)
		}
		r.wroteTenant(p, patched, false)
		return nil
	}}
}

func (r *Tenants) deleting(p *registryPass, going decide.Going) change {
	return change{tenant: going.Tenant, do: func(ctx context.Context) error {
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
		r.Log.Info("a tenant goes", "registry", p.name.String(), "tenant", now.Name, "because", going.Because)
		r.ledger.mu.Lock()
		defer r.ledger.mu.Unlock()
		p.account.deleted(now, r.Now())
		return nil
	}}
}

// tellRollouts keeps how far the templates' changes are, and has the templates say so.
func (r *Tenants) tellRollouts(p *registryPass) {
	for name, why := range p.broken {
		if t := p.tenants[name]; t != nil {
			p.unrender(t.Spec.TemplateRef, t.Labels[tenantv1.LabelUID], why)
		}
	}
	for name, template := range p.templates {
		d, decided := p.decision.Rollouts[name]
		if !decided {
			continue
		}
		now := rolloutOf(template, d, p.now)
		before, unrendered := r.ledger.rolloutOf(p.name, name)
		if equality.Semantic.DeepEqual(before, now) && maps.Equal(unrendered, p.unrendered[name]) {
			continue
		}
		r.ledger.tellRollout(p.account, name, now, p.unrendered[name])
		r.templateQueue.add(types.NamespacedName{Namespace: p.name.Namespace, Name: name}, 0)
	}
}

// rolloutOf is how far a template's change is, as its status says it.
func rolloutOf(template *tenantv1.TenantTemplate, d decide.RolloutDecision, now time.Time) *tenantv1.RolloutStatus {
	at := metav1.NewTime(now.Truncate(time.Second))
	s := &tenantv1.RolloutStatus{Phase: tenantv1.RolloutPhase(d.Phase), TargetGeneration: template.Generation, TotalTenants: int32(d.Total), //nolint:gosec // tenants are bounded
		UpdatedTenants: int32(d.Updated), UpdatingTenants: int32(d.Updating), ReadyUpdatedTenants: int32(d.ReadyUpdated), Message: d.Message} //nolint:gosec // tenants are bounded
	if s.Phase != tenantv1.RolloutIdle {
		began := metav1.NewTime(d.Began.Truncate(time.Second))
		s.StartTime = &began
	}
	before := template.Status.Rollout
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
