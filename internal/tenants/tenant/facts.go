// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/inventory"
	"github.com/yuba-dev/yuba/internal/objects/kinds"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/objects/ready"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/targets"
)

// item is one object during a pass.
type item struct {
	id       string
	resource *tenantv1.TResource
	// manifest is the wanted object and digest identifies it; a broken object has none.
	manifest *unstructured.Unstructured
	digest   string
	ref      owned.Ref
	// broken is why the object cannot be rendered. missing are ids of dependencies that do not
	// exist.
	broken  string
	missing []string
	// cluster is the object's cluster.
	cluster *targets.Cluster
	// known is the memory of it, entry the record in the status.
	known *left
	entry *tenantv1.AppliedResource
	// live is its metadata in the watch; may be nil.
	live      *metav1.PartialObjectMetadata
	readiness ready.Readiness
	refused   *passes.Refusal
	// wrote: this pass has written it; changed: the write changed it.
	wrote, changed bool
	// copies are the objects of our API that it needs at the target.
	copies []owned.Ref
}

func (it *item) place() place { return place{it.cluster.Name, it.ref.ID} }

// exists reports whether the object exists, as far as known.
func (it *item) exists() bool {
	if it.broken != "" {
		return false
	}
	if it.live != nil {
		return true
	}
	return it.known != nil && it.cluster.Watch.AsLeft(it.ref.ID, it.known.print)
}

// asLeft reports whether the object has its current manifest and was not changed since.
func (it *item) asLeft() bool {
	if it.broken != "" {
		return false
	}
	if it.known != nil {
		return it.known.digest == it.digest && it.cluster.Watch.AsLeft(it.ref.ID, it.known.print)
	}
	// After a restart, use the status.
	return it.live != nil && it.entry != nil && it.entry.Hash == it.digest && it.entry.Print == inventory.PrintText(owned.PrintOf(it.live))
}

// was is the UID of the object that was the tenant's; empty for none.
func (it *item) was() types.UID {
	switch {
	case it.known != nil:
		return it.known.print.UID
	case it.entry != nil:
		return types.UID(it.entry.UID)
	}
	return ""
}

// took reports whether another owner took the tenant's object.
func (it *item) took() bool { return it.live != nil && it.was() != "" && it.was() == it.live.UID }

// sameManifest reports whether the current manifest was written.
func (it *item) sameManifest() bool {
	return it.known != nil && it.known.digest == it.digest || it.known == nil && it.entry != nil && it.entry.Hash == it.digest
}

// gatherItems gathers the facts about the plan's objects.
func (p *pass) gatherItems(ctx context.Context, r *Controller) error {
	p.entries = make(map[place]*tenantv1.AppliedResource, len(p.obj.Status.Inventory))
	for i := range p.obj.Status.Inventory {
		p.entries[placeOf(&p.obj.Status.Inventory[i])] = &p.obj.Status.Inventory[i]
	}
	for _, id := range p.plan.brokenIDs {
		p.items = append(p.items, &item{id: id, resource: p.resourceOf(id), broken: p.plan.broken[id], cluster: p.home})
	}
	for _, o := range p.plan.ordered() {
		it := &item{id: o.ID, resource: o.Resource, manifest: o.Object, cluster: p.home, missing: p.plan.graph.Missing(o.ID)}
		p.settle(it, r.Now())
		p.items = append(p.items, it)
	}
	r.lacking.set(p.owner, slices.Collect(maps.Keys(p.lacks)))
	p.linkCopies()
	if err := p.follow(ctx); err != nil {
		return err
	}
	p.recallCopies()
	for _, it := range p.items {
		p.lookAt(r, it)
	}
	return nil
}

// resourceOf finds the resource of an object that does not render.
func (p *pass) resourceOf(id string) *tenantv1.TResource {
	for _, list := range p.obj.Spec.Lists() {
		for i := range list.Items {
			if list.Items[i].ID == id {
				return &list.Items[i]
			}
		}
	}
	return &tenantv1.TResource{ID: id}
}

// settle chooses an object's cluster, and completes the manifest for it.
func (p *pass) settle(it *item, now time.Time) {
	gvk := it.manifest.GroupVersionKind()
	served, root, err := p.home.Kinds.Serves(gvk, now)
	var other *kinds.OtherVersionError
	switch {
	case errors.As(err, &other):
		it.broken = other.Error()
	case err != nil:
		it.broken = fmt.Sprintf("cannot determine whether this API serves the kind %s of %s: %v", gvk.Kind, gvk.GroupVersion(), err)
	case !served || p.isAway(it):
		root = p.settleAway(it, now)
	}
	if root {
		it.manifest.SetNamespace("")
	}
	p.marks(it.cluster).Write(it.manifest, it.resource)
	it.ref = owned.Ref{ID: owned.IDOf(it.manifest), Version: gvk.Version}
	if it.broken != "" {
		return
	}
	if why := it.cluster.Unwatched(gvk.GroupKind(), now); why != nil {
		it.breakUnwatched(why)
		return
	}
	if it.digest, err = inventory.ManifestText(it.manifest); err != nil {
		it.broken = err.Error()
	}
}

// breakUnwatched: do not create an object whose kind cannot be watched.
func (it *item) breakUnwatched(why error) {
	it.broken = fmt.Sprintf("cannot watch objects of the kind %s of %s, so none is created: %v", it.manifest.GetKind(), it.manifest.GetAPIVersion(), why)
	if it.cluster.Name != "" && apierrors.IsForbidden(why) {
		it.broken += ". The user of the kubeconfig needs the right to list and watch them in all namespaces (a ClusterRole)"
	}
}

// isAway reports whether an object exists at the target. It stays there even if this API serves its
// kind later.
func (p *pass) isAway(it *item) bool {
	called := targets.NameOf(p.obj.Spec.KubeConfig)
	id := owned.IDOf(it.manifest)
	e := p.entries[place{called, id}]
	if e == nil {
		id.Namespace = ""
		e = p.entries[place{called, id}]
	}
	return called != "" && e != nil && e.ID == it.id && e.UID != ""
}

// settleAway chooses the target if that serves the kind. root is true for cluster-scoped kinds.
func (p *pass) settleAway(it *item, now time.Time) (root bool) {
	gvk := it.manifest.GroupVersionKind()
	if p.obj.Spec.KubeConfig == nil {
		p.lack(gvk)
		it.broken = fmt.Sprintf("this API does not serve the kind %s of %s. Install its definition, or name a cluster that has it: spec.kubeConfig of TenantTemplate %s",
			gvk.Kind, gvk.GroupVersion(), p.obj.Spec.TemplateRef)
		return false
	}
	if p.targetErr == nil {
		served, root, err := p.target.Kinds.Serves(gvk, now)
		var other *kinds.OtherVersionError
		switch {
		case errors.As(err, &other):
			it.broken = "at the cluster of spec.kubeConfig " + other.Error()
			return false
		case err != nil:
			p.target.Hush(now, targets.Explain(err))
			p.targetErr = targets.Explain(err)
		case served:
			it.cluster = p.target
			return root
		default:
			p.lack(gvk)
			it.broken = fmt.Sprintf("neither this API nor the cluster of spec.kubeConfig serves the kind %s of %s", gvk.Kind, gvk.GroupVersion())
			return false
		}
	}
	it.broken = p.unreachable(gvk)
	return false
}

// lack records a kind that no API serves.
func (p *pass) lack(gvk schema.GroupVersionKind) {
	if p.lacks == nil {
		p.lacks = map[string]bool{}
	}
	p.lacks[gvk.Group] = true
}

// unreachable says why an object for the target cannot be created, in the same words for the same
// reason.
func (p *pass) unreachable(gvk schema.GroupVersionKind) string {
	return fmt.Sprintf("objects of the kind %s of %s go to the cluster of spec.kubeConfig, which cannot be used: %v", gvk.Kind, gvk.GroupVersion(), p.targetErr)
}

// follow watches the kinds of all objects of the tenant, present and planned.
func (p *pass) follow(ctx context.Context) error {
	lists := map[*targets.Cluster]map[schema.GroupKind]string{p.home: {}}
	add := func(c *targets.Cluster, kind schema.GroupKind, version string) {
		if lists[c] == nil {
			lists[c] = map[schema.GroupKind]string{}
		}
		if c.Unwatched(kind, p.now) == nil {
			lists[c][kind] = version
		}
	}
	for _, it := range p.items {
		if it.broken == "" {
			add(it.cluster, it.ref.GroupKind, it.ref.Version)
		}
	}
	p.inventoryKinds(add)
	if p.target != nil && lists[p.target] != nil {
		// Originals change their copies.
		add(p.home, secretKind, "v1")
		add(p.home, configMapKind, "v1")
		for _, kind := range copiedKinds {
			add(p.target, kind, "v1")
		}
	}
	for c, list := range lists {
		err := c.Follow(ctx, p.owner, list)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var unwatched *owned.UnwatchedError
		if errors.As(err, &unwatched) {
			p.cannotFollow(c, list, unwatched)
		} else if err != nil {
			return err
		}
		c.Watch.Keep(p.owner, list)
	}
	return nil
}

// cannotFollow skips unwatchable kinds for a while, or the target if it does not answer.
func (p *pass) cannotFollow(c *targets.Cluster, list map[schema.GroupKind]string, unwatched *owned.UnwatchedError) {
	for kind, why := range unwatched.Kinds {
		delete(list, kind)
		var status apierrors.APIStatus
		if c != p.home && !errors.As(why, &status) {
			c.Hush(p.now, targets.Explain(why))
			if c == p.target {
				p.loseTarget(targets.Explain(why))
			}
			continue
		}
		if c != p.home {
			why = targets.Explain(why)
		}
		c.CannotWatch(kind, p.now, why)
		for _, it := range p.items {
			if it.cluster == c && it.ref.GroupKind == kind && it.broken == "" {
				it.breakUnwatched(why)
			}
		}
	}
}

// inventoryKinds adds the kinds of the inventory.
func (p *pass) inventoryKinds(add func(*targets.Cluster, schema.GroupKind, string)) {
	for i := range p.obj.Status.Inventory {
		e := &p.obj.Status.Inventory[i]
		c, err := p.clusterOf(e)
		if err != nil {
			continue
		}
		gvk := schema.FromAPIVersionAndKind(e.APIVersion, e.Kind)
		served, _, err := c.Kinds.Serves(gvk, p.now)
		var other *kinds.OtherVersionError
		if errors.As(err, &other) {
			served, err, gvk.Version = true, nil, other.Instead
		}
		if err == nil && served {
			add(c, gvk.GroupKind(), gvk.Version)
		}
	}
}

// loseTarget gives up the target's objects in this pass.
func (p *pass) loseTarget(err error) {
	p.targetErr = err
	for _, it := range p.items {
		if it.cluster == p.target && it.broken == "" {
			it.broken = p.unreachable(it.manifest.GroupVersionKind())
		}
	}
}

// reachTargets opens the clusters with present or planned objects of the tenant.
func (r *Controller) reachTargets(ctx context.Context, p *pass) {
	now := targets.NameOf(p.obj.Spec.KubeConfig)
	p.target, p.targetErr = r.Clusters.Target(ctx, p.owner, p.obj.Spec.KubeConfig)
	if p.targetErr == nil && p.target != nil {
		p.targetErr = p.target.Silent(p.now)
	}
	p.others = map[string]reached{}
	for _, e := range p.obj.Status.Inventory {
		if _, known := p.others[e.KubeConfig]; known || e.Cluster == "" || e.KubeConfig == now {
			continue
		}
		var to reached
		if to.Cluster, to.err = r.Clusters.Reach(ctx, p.owner, e.KubeConfig); to.err == nil {
			to.err = to.Silent(p.now)
		}
		p.others[e.KubeConfig] = to
	}
	r.Clusters.Keep(p.owner, func(called string) bool {
		_, other := p.others[called]
		return other || called == now
	})
}

// clusterOf is the cluster of an inventory entry, or an error.
func (p *pass) clusterOf(e *tenantv1.AppliedResource) (*targets.Cluster, error) {
	if e.Cluster == "" {
		return p.home, nil
	}
	to, other := p.others[e.KubeConfig]
	if !other {
		to = reached{p.target, p.targetErr}
	}
	switch {
	case to.err != nil:
	case to.Cluster == nil:
		to.err = &targets.Error{Message: "its cluster is unknown"}
	default:
		// It may have become unreachable in this pass.
		to.err = to.Cluster.Silent(p.now)
	}
	return to.Cluster, to.err
}

// lookAt gathers the facts about an object.
func (p *pass) lookAt(r *Controller, it *item) {
	if it.broken != "" {
		return
	}
	it.known = p.memory.objects[it.id]
	if it.known != nil && it.known.at != it.place() {
		it.known = nil // the resource's name has changed since
	}
	if f := p.memory.refused[it.id]; f != nil && f.Digest == it.digest && !(f.Claimed && r.engine.Free(claimOf(it), p.owner)) {
		it.refused = f
	}
	it.entry = p.entries[it.place()]
	live, look := it.cluster.Watch.Look(it.ref.ID)
	switch readiness, looked := look.(ready.Readiness); {
	case it.known != nil && (live == nil || owned.Older(live.ResourceVersion, it.known.print.Version)):
		// The watch does not have our write yet.
		it.readiness = it.known.readiness
	case live == nil:
	case looked:
		it.live, it.readiness = live, readiness
	default:
		it.live, it.readiness = live, ready.Readiness{Ready: true}
	}
	// Another owner's object says nothing about the readiness of ours.
	if it.live != nil && !p.marks(it.cluster).Ours(it.live) && it.resource.CreationPolicy != tenantv1.CreationPolicyOnce {
		it.readiness = ready.Readiness{}
	}
}

// result records the outcome of a write.
func (r *Controller) result(p *pass, it *item, o outcome, now time.Time) {
	it.wrote = true
	maps.Copy(p.memory.copies, o.copied)
	if o.err != nil {
		f := passes.Refuse(p.memory.refused[it.id], it.digest, o.err, now)
		var conflict *engine.ConflictError
		if errors.As(o.err, &conflict) {
			f.Owner, f.Claimed = conflict.Holder, conflict.Claimed
		}
		it.refused, p.memory.refused[it.id] = f, f
		return
	}
	u := o.object
	if it.exists() && it.sameManifest() {
		if p.memory.quarrels[it.id] == nil {
			p.memory.quarrels[it.id] = &quarrel{}
		}
		p.memory.quarrels[it.id].again(now)
	}
	it.changed = !it.exists() || it.live != nil && it.live.ResourceVersion != u.GetResourceVersion()
	it.readiness = it.cluster.Kinds.Readiness(u)
	it.known = &left{at: it.place(), digest: it.digest, print: owned.PrintOf(u), readiness: it.readiness, needs: p.graphNeeds(it.id)}
	it.live = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), Generation: u.GetGeneration(),
		Labels: u.GetLabels(), Annotations: u.GetAnnotations(), OwnerReferences: u.GetOwnerReferences(), DeletionTimestamp: u.GetDeletionTimestamp(),
	}}
	it.refused = nil
	p.memory.objects[it.id] = it.known
	delete(p.memory.refused, it.id)
	r.sights.add(p.owner, it.place(), sight{print: it.known.print, ready: it.readiness})
}

// sights returns the objects as seen in this pass. Only later changes need another pass.
func (p *pass) sights() map[place]sight {
	seen := make(map[place]sight, len(p.items))
	for _, it := range p.items {
		if it.broken != "" {
			continue
		}
		s := sight{ready: it.readiness}
		switch {
		case it.live != nil:
			s.print = owned.PrintOf(it.live)
		case it.known != nil:
			s.print = it.known.print
		default:
			continue
		}
		seen[it.place()] = s
	}
	return seen
}
