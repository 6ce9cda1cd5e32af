// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/targets"
)

// unseenPause is the pause before objects without a watch are checked again.
const unseenPause = 2 * time.Second

// made gathers the facts about inventory entries for the decision on their deletion.
func (r *Controller) made(ctx context.Context, p *pass, entries []tenantv1.AppliedResource) ([]decide.Made, error) {
	p.keepAsDeclared(entries)
	list, asked := make([]decide.Made, len(entries)), 0
	for i := range entries {
		e, m := &entries[i], &list[i]
		*m = decide.Made{Key: keyOf(e), ID: goingID(e), Name: e.Kind + " " + e.Name, Retain: e.DeletionPolicy == tenantv1.DeletionPolicyRetain, Needs: p.needsOf(e)}
		c, err := p.clusterOf(e)
		if err != nil && r.givesUp(ctx, p, e, err) {
			p.news = append(p.news, news{corev1.EventTypeWarning, tenantv1.EventApplyFailed, fmt.Sprintf("%s (%s) was not removed: %v", owned.Name(refOf(e).ID), e.ID, err)})
			continue
		}
		var live *metav1.PartialObjectMetadata
		if err == nil {
			live, err = p.find(ctx, c, e)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			// An object that cannot be read counts as existing.
			m.Exists, m.Ours, m.Refused = true, true, p.stuck(e, m.Name, err.Error())
			p.next = times.Earlier(p.next, r.Now().Add(targets.Pause(err)))
			continue
		}
		if live != nil {
			m.Exists, m.Deleting, m.Ours = true, live.DeletionTimestamp != nil, p.marks(c).Ours(live)
			if seen, _ := c.Watch.Get(refOf(e).ID); seen == nil && m.Ours {
				p.next = times.Earlier(p.next, r.Now().Add(unseenPause))
			}
			if m.Deleting && m.Ours && asked < maxAsked {
				asked++
				m.Stays, m.Finalizers = whyItStays(ctx, c, e)
			}
		}
		if f := p.memory.refused[m.Key]; f != nil && r.Now().Before(f.Due()) {
			m.Refused = p.stuck(e, m.Name, f.Message)
			p.next = times.Earlier(p.next, f.Due())
		}
	}
	p.keepHolders(entries, list)
	return list, nil
}

// maxAsked limits the objects under deletion whose state one pass reads.
const maxAsked = 5

// whyItStays returns the Ready message of an object under deletion, and the finalizers that it
// waits for.
func whyItStays(ctx context.Context, c *targets.Cluster, e *tenantv1.AppliedResource) (says string, finalizers []string) {
	live := &unstructured.Unstructured{}
	gvk, err := servedAs(c, e)
	if err == nil {
		live.SetGroupVersionKind(gvk)
		err = c.Client.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: e.Name}, live)
	}
	if err != nil {
		return "", nil // it is now deleted, or cannot be read
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions") //nolint:errcheck // malformed conditions count as none
	for _, entry := range conditions {
		condition, _ := entry.(map[string]any)      //nolint:errcheck // as above
		message, _ := condition["message"].(string) //nolint:errcheck // as above
		if condition["type"] == "Ready" && condition["status"] == string(metav1.ConditionFalse) && message != "" {
			return passes.OneLine(message), live.GetFinalizers()
		}
	}
	return "", live.GetFinalizers()
}

// causeOf is why the first object stays, according to the last attempt to delete it.
func (p *pass) causeOf(left []tenantv1.AppliedResource, d decide.DeletionDecision) string {
	for i := range left {
		if f := p.memory.refused[keyOf(&left[i])]; f != nil {
			return p.stuck(&left[i], left[i].Kind+" "+left[i].Name, f.Message)
		}
	}
	return passes.OneLine(d.Cause)
}

// stuck explains why an object cannot be removed, and how to abandon it.
func (p *pass) stuck(e *tenantv1.AppliedResource, name, why string) string {
	if e.KubeConfig == "" {
		return passes.OneLine(why)
	}
	text := fmt.Sprintf("%s is in the cluster of the kubeconfig in %s, and cannot be removed there: %s", name, e.KubeConfig, why)
	if p.obj.DeletionTimestamp != nil {
		text += fmt.Sprintf(". If that cluster no longer exists, delete the tenant without its objects there: "+
			"kubectl patch tenant %s -n %s --type merge -p '{\"metadata\":{\"finalizers\":null}}'", p.obj.Name, p.obj.Namespace)
	}
	return text
}

// givesUp reports whether an object can never be removed because its kubeconfig Secret is gone, and
// the template names another cluster or the whole namespace is being deleted.
func (r *Controller) givesUp(ctx context.Context, p *pass, e *tenantv1.AppliedResource, why error) bool {
	var lost *targets.Error
	if !errors.As(why, &lost) || !lost.Gone {
		return false
	}
	if e.KubeConfig != targets.NameOf(p.obj.Spec.KubeConfig) {
		return true
	}
	if p.obj.DeletionTimestamp == nil {
		return false
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := r.Reader.Get(ctx, client.ObjectKey{Name: p.obj.Namespace}, namespace)
	return err == nil && namespace.DeletionTimestamp != nil
}

// goingID is the id of a leaving entry. Copies do not wait for objects in other clusters.
func goingID(e *tenantv1.AppliedResource) string {
	if e.ID == copiesID {
		return copiesOf(e)
	}
	return e.ID
}

func copiesOf(e *tenantv1.AppliedResource) string { return copiesID + " " + e.KubeConfig }

// keyOf identifies an object of the inventory.
func keyOf(e *tenantv1.AppliedResource) string {
	return fmt.Sprintf("%s %s %s/%s", e.KubeConfig, refOf(e).GroupKind, e.Namespace, e.Name)
}

// needsOf are the ids that an entry depends on: those in the template, and those recorded at write
// time, for removed resources. Objects at the target depend on their copies.
func (p *pass) needsOf(e *tenantv1.AppliedResource) []string {
	needs := slices.Clone(e.Needs)
	if p.plan.graph != nil {
		needs = append(needs, p.graphNeeds(e.ID)...)
	} else {
		needs = append(needs, p.resourceOf(e.ID).DependIds...)
	}
	if e.Cluster != "" && e.ID != copiesID {
		needs = append(needs, copiesOf(e))
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}

// letGo deletes or retains objects as decided, and returns the remaining ones.
func (r *Controller) letGo(ctx context.Context, p *pass, entries []tenantv1.AppliedResource, d decide.DeletionDecision, reason string) ([]tenantv1.AppliedResource, error) {
	g := errgroup.Group{}
	g.SetLimit(concurrency)
	fates, errs := make([]engine.Fate, len(entries)), make([]error, len(entries))
	for i, o := range d.Objects {
		if o.Verb != decide.GoingDelete && o.Verb != decide.GoingRetain {
			continue
		}
		g.Go(func() error {
			fates[i], errs[i] = r.let(ctx, p, &entries[i], reason)
			return nil
		})
	}
	_ = g.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var there []tenantv1.AppliedResource
	advanced := false
	for i, o := range d.Objects {
		e := entries[i]
		name := owned.Name(refOf(&e).ID)
		switch {
		case o.Verb == decide.GoingForget:
			delete(p.memory.refused, o.Key)
			continue
		case o.Verb == decide.GoingWait || o.Verb == decide.GoingRefused:
		case errs[i] != nil:
			f := passes.Refuse(p.memory.refused[o.Key], "", errs[i], r.Now())
			p.memory.refused[o.Key] = f
			p.next = times.Earlier(p.next, f.Due())
			p.news = append(p.news, news{corev1.EventTypeWarning, tenantv1.EventApplyFailed, fmt.Sprintf("%s: %s", e.ID, f.Message)})
		case fates[i] == engine.Released:
			advanced = true
			p.news = append(p.news, news{"", retainedEvent[reason], fmt.Sprintf("%s (%s) was kept, and marked as orphaned", name, e.ID)})
			continue
		case fates[i] == engine.Gone || fates[i] == engine.Kept:
			advanced = true
			continue
		case reason == tenantv1.OrphanedRemoved:
			p.news = append(p.news, news{"", tenantv1.EventOrphanedResourceDeleted, fmt.Sprintf("%s (%s) is being deleted: it is no longer in the template", name, e.ID)})
		}
		there = append(there, e)
	}
	if advanced && len(there) > 0 {
		// Wake objects that waited for these; no watch reports objects that did not exist before.
		p.next = times.Earlier(p.next, r.Now())
	}
	return there, nil
}

var retainedEvent = map[string]string{tenantv1.OrphanedRemoved: tenantv1.EventOrphanedResourceRetained, tenantv1.OrphanedTenantDeleted: tenantv1.EventResourceRetained}

// clear removes objects that are no longer in the template.
func (r *Controller) clear(ctx context.Context, p *pass) error {
	entries := p.orphans()
	if len(entries) == 0 {
		return nil
	}
	var held []tenantv1.AppliedResource
	entries = slices.DeleteFunc(entries, func(e tenantv1.AppliedResource) bool {
		user, why := p.stillUsing(&e), "%s is removed when %s matches the template"
		if object := p.livesIn(&e); object != "" {
			user, why = object, "%s stays while the template has %s in it"
		}
		if user != "" {
			held = append(held, e)
			p.leave(e.ID, fmt.Sprintf(why, owned.Name(refOf(&e).ID), user))
		}
		return user != ""
	})
	facts, err := r.made(ctx, p, entries)
	if err != nil {
		return err
	}
	d := decide.Deletion(facts)
	left, err := r.letGo(ctx, p, entries, d, tenantv1.OrphanedRemoved)
	for _, o := range d.Objects {
		if o.Message != "" {
			p.leave(o.ID, o.Message)
		}
	}
	p.going = append(held, left...)
	return err
}

// leave records the reason why a stale object still exists in the status.
func (p *pass) leave(id, message string) {
	w := tenantv1.WaitingResource{ID: id, Reason: WaitLeaving, Message: passes.OneLine(message)}
	w.Since = p.waitingSince(w, nil)
	p.leaving = append(p.leaving, w)
}

// inPlace reports whether an object exists and belongs to the tenant.
func (p *pass) inPlace(it *item) bool {
	return it.exists() && (it.live == nil || p.marks(it.cluster).Ours(it.live))
}

// stillUsing names an object that still needs a stale one, or its replacement that does not exist
// yet; empty for none.
func (p *pass) stillUsing(lost *tenantv1.AppliedResource) string {
	wanted := map[place]*item{}
	broken := map[string]bool{}
	for _, it := range p.items {
		if it.broken != "" {
			broken[it.id] = true
			continue
		}
		wanted[it.place()] = it
		if it.id == lost.ID && !p.inPlace(it) {
			return it.name()
		}
	}
	for i := range p.obj.Status.Inventory {
		e := &p.obj.Status.Inventory[i]
		needs := slices.Contains(e.Needs, lost.ID) || lost.ID == copiesID && e.KubeConfig == lost.KubeConfig && e.ID != copiesID
		if e.UID == "" || !needs || placeOf(e) == placeOf(lost) {
			continue
		}
		it := wanted[placeOf(e)]
		stale := it != nil && p.inPlace(it) && !it.sameManifest() && it.resource.CreationPolicy != tenantv1.CreationPolicyOnce
		if stale || it == nil && broken[e.ID] {
			return owned.Name(refOf(e).ID)
		}
	}
	return ""
}

// finalize removes the objects of a deleted tenant, dependants first, then the finalizer. It does
// not wait: each removed object causes another call.
func (r *Controller) finalize(ctx context.Context, p *pass) (ctrl.Result, error) {
	if !slices.Contains(p.obj.Finalizers, tenantv1.Finalizer) {
		return ctrl.Result{}, nil
	}
	if p.unrecorded() && p.plan.graph != nil {
		// An incomplete first pass may have created objects.
		if err := p.gatherItems(ctx, r); err != nil {
			return ctrl.Result{}, err
		}
		p.obj.Status.Inventory = p.inventory(true)
		p.items = nil
	}
	if conditions.Of(p.before, tenantv1.ConditionReady).Reason != tenantv1.ReasonDeleting {
		p.news = append(p.news, news{"", tenantv1.EventTenantDeleting, fmt.Sprintf("deleting or releasing %d objects, dependants first", len(p.obj.Status.Inventory))})
	}
	if err := p.follow(ctx); err != nil {
		return ctrl.Result{}, err
	}
	entries := slices.Clone(p.obj.Status.Inventory)
	facts, err := r.made(ctx, p, entries)
	if err != nil {
		return ctrl.Result{}, err
	}
	d := decide.Deletion(facts)
	left, err := r.letGo(ctx, p, entries, d, tenantv1.OrphanedTenantDeleted)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(left) == 0 {
		return r.release(ctx, p)
	}
	p.going, p.obj.Status.Inventory = left, left
	p.obj.Status.AppliedResources = appliedNames(left)
	p.obj.Status.Waiting = nil
	for _, o := range d.Objects {
		if o.Message != "" {
			w := tenantv1.WaitingResource{ID: o.ID, Reason: string(o.Verb), Message: passes.OneLine(o.Message)}
			w.Since = p.waitingSince(w, nil)
			p.obj.Status.Waiting = append(p.obj.Status.Waiting, w)
		}
	}
	message := d.Message
	if cause := p.causeOf(left, d); cause != "" {
		message += ". " + cause
	}
	passes.SetCondition(p.obj, tenantv1.ConditionReady, metav1.ConditionFalse, tenantv1.ReasonDeleting, message)
	passes.SetCondition(p.obj, tenantv1.ConditionProgressing, metav1.ConditionTrue, tenantv1.ReasonDeleting, message)
	return r.record(ctx, p)
}

// release removes the finalizer.
func (r *Controller) release(ctx context.Context, p *pass) (ctrl.Result, error) {
	finalizers := slices.DeleteFunc(slices.Clone(p.obj.Finalizers), func(f string) bool { return f == tenantv1.Finalizer })
	if err := r.SetFinalizers(ctx, p.obj, p.before, finalizers); err != nil && !apierrors.IsNotFound(err) {
		return reconciling.Again(err)
	}
	p.news = append(p.news, news{"", tenantv1.EventTenantDeleted, "all objects are deleted or released"})
	r.tellNews(p)
	r.forget(p.owner)
	return ctrl.Result{}, nil
}
