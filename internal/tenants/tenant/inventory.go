// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/inventory"
	"github.com/yuba-dev/yuba/internal/objects/kinds"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/ownerlabels"
	"github.com/yuba-dev/yuba/internal/tenants/targets"
)

// refOf is the object of an entry.
func refOf(e *tenantv1.AppliedResource) owned.Ref {
	return inventory.Ref(e.APIVersion, e.Kind, e.Namespace, e.Name)
}

// placeOf is where the object of an entry is.
func placeOf(e *tenantv1.AppliedResource) place { return place{e.KubeConfig, refOf(e).ID} }

// servedAs is an entry's kind in a served version.
func servedAs(c *targets.Cluster, e *tenantv1.AppliedResource) (schema.GroupVersionKind, error) {
	return c.Kinds.ServedAs(schema.FromAPIVersionAndKind(e.APIVersion, e.Kind))
}

// setCluster records the cluster of an object in its entry.
func setCluster(e *tenantv1.AppliedResource, c *targets.Cluster) {
	if c.Name != "" {
		e.Cluster, e.KubeConfig = tenantv1.ClusterTarget, c.Name
	}
}

// graphNeeds are an object's dependencies in the plan.
func (p *pass) graphNeeds(id string) []string {
	if p.plan.graph == nil {
		return nil
	}
	var needs []string
	for _, edge := range p.plan.graph.Needs(id) {
		needs = append(needs, edge.To)
	}
	slices.Sort(needs)
	return needs
}

// entryOf is the inventory entry of an object.
func (p *pass) entryOf(it *item) tenantv1.AppliedResource {
	gv := schema.GroupVersion{Group: it.ref.GroupKind.Group, Version: it.ref.Version}
	e := tenantv1.AppliedResource{ID: it.id, APIVersion: gv.String(), Kind: it.ref.GroupKind.Kind, Namespace: it.ref.Namespace, Name: it.ref.Name,
		DeletionPolicy: ownerlabels.PolicyOf(it.resource)}
	setCluster(&e, it.cluster)
	switch {
	case it.known != nil:
		e.UID, e.Hash, e.Print, e.Needs = string(it.known.print.UID), it.known.digest, inventory.PrintText(it.known.print), it.known.needs
	case it.entry != nil:
		e.UID, e.Hash, e.Print, e.Needs = it.entry.UID, it.entry.Hash, it.entry.Print, it.entry.Needs
	}
	// Current objects use the template's dependencies; stale ones use those recorded at write time.
	if it.sameManifest() || e.Hash == "" {
		e.Needs = p.graphNeeds(it.id)
	}
	return e
}

// completeInventory adds groups and versions from the plan to Tenant Operator's inventory.
func (p *pass) completeInventory() {
	if len(p.obj.Status.Inventory) > 0 || len(p.obj.Status.AppliedResources) == 0 {
		return
	}
	known := map[string]tenantv1.AppliedResource{}
	for _, o := range p.plan.objects {
		known[o.ID] = tenantv1.AppliedResource{ID: o.ID, APIVersion: o.Object.GetAPIVersion(), Kind: o.Object.GetKind(), DeletionPolicy: ownerlabels.PolicyOf(o.Resource)}
	}
	lists := (&tenantv1.Resources{}).Lists()
	for _, text := range p.obj.Status.AppliedResources {
		name, id, _ := strings.Cut(text, "@")
		parts := strings.Split(name, "/")
		if len(parts) != 3 {
			continue
		}
		e := tenantv1.AppliedResource{ID: id, Kind: parts[0], Namespace: parts[1], Name: parts[2]}
		if k, ok := known[id]; ok && k.Kind == e.Kind {
			e.APIVersion, e.DeletionPolicy = k.APIVersion, k.DeletionPolicy
		} else if i := slices.IndexFunc(lists, func(l tenantv1.List) bool { return l.Kind == e.Kind }); i >= 0 {
			e.APIVersion = lists[i].APIVersion
		} else {
			continue // unknown kind; Tenant Operator could not remove it either
		}
		if namespaced(p.home, &e) {
			p.obj.Status.Inventory = append(p.obj.Status.Inventory, e)
		}
	}
}

// namespaced clears the namespace of a cluster-scoped entry; it is false if the kind is not served.
func namespaced(c *targets.Cluster, e *tenantv1.AppliedResource) bool {
	gvk := schema.FromAPIVersionAndKind(e.APIVersion, e.Kind)
	mapping, err := c.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		e.Namespace = ""
	}
	return true
}

// appliedNames is the inventory in Tenant Operator's form.
func appliedNames(entries []tenantv1.AppliedResource) []string {
	var names []string
	for _, e := range entries {
		names = append(names, fmt.Sprintf("%s/%s/%s@%s", e.Kind, e.Namespace, e.Name, e.ID))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// orphans lists entries that are not in the plan. Objects that do not render or have no order do
// not count.
func (p *pass) orphans() []tenantv1.AppliedResource {
	if p.plan.graph == nil {
		return nil
	}
	wanted := map[place]bool{}
	kept := map[string]bool{}
	for _, it := range p.items {
		if it.broken != "" {
			// Its copies may be needed again.
			kept[it.id], kept[copiesID] = true, true
			continue
		}
		wanted[it.place()] = true
		for _, ref := range it.copies {
			wanted[place{it.cluster.Name, ref.ID}] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(p.obj.Status.Inventory), func(e tenantv1.AppliedResource) bool {
		return wanted[placeOf(&e)] || kept[e.ID]
	})
}

// let deletes an object, or retains and marks it as orphaned.
func (r *Controller) let(ctx context.Context, p *pass, e *tenantv1.AppliedResource, reason string) (engine.Fate, error) {
	c, err := p.clusterOf(e)
	if err != nil {
		return engine.Going, err
	}
	live, err := p.find(ctx, c, e)
	switch {
	case err != nil:
		return engine.Going, err
	case live == nil:
		return engine.Gone, nil
	case !p.marks(c).Ours(live), p.hasElsewhere(e, live.UID):
		return engine.Kept, nil
	}
	ref := refOf(e)
	gvk, err := servedAs(c, e)
	switch {
	case meta.IsNoMatchError(err):
		return engine.Gone, nil
	case err != nil:
		return engine.Going, fmt.Errorf("ask for the kind of %s: %w", owned.Name(ref.ID), c.Shown(err))
	}
	ref.Version = gvk.Version
	var release map[string]any
	what := "deleted"
	if e.DeletionPolicy == tenantv1.DeletionPolicyRetain {
		release, what = p.marks(c).Orphan(live, reason, r.Now()), "let go"
	}
	fate, err := r.engine.Remove(ctx, &c.Cluster, ref, live, release)
	switch {
	case apierrors.IsNotFound(err) && !kinds.NotFound(err):
		return engine.Gone, nil // no watch reports it: its kind may be gone, too
	case err != nil:
		return fate, fmt.Errorf("%s cannot be %s: %w", owned.Name(ref.ID), what, c.Shown(err))
	}
	return fate, nil
}

// find returns an object's metadata, from the watch or else the API; nil if it does not exist.
func (p *pass) find(ctx context.Context, c *targets.Cluster, e *tenantv1.AppliedResource) (*metav1.PartialObjectMetadata, error) {
	ref := refOf(e)
	if live, _ := c.Watch.Get(ref.ID); live != nil {
		return live, nil
	}
	m := &metav1.PartialObjectMetadata{}
	gvk, err := servedAs(c, e)
	if err == nil {
		m.SetGroupVersionKind(gvk)
		err = c.Client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, m)
	}
	switch {
	case kinds.NotFound(err) && c.Kinds.Defines(ctx, gvk):
		return nil, fmt.Errorf("look for %s: the API does not serve its kind in the version %s now", owned.Name(ref.ID), gvk.Version)
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for %s: %w", owned.Name(ref.ID), c.Shown(err))
	}
	return m, nil
}
