// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/ownerlabels"
	"github.com/yuba-dev/yuba/internal/tenants/render"
)

// Retained objects must not be lost with other objects.

// keepAsDeclared retains entries that the current template retains: the recorded policy may be
// older.
func (p *pass) keepAsDeclared(entries []tenantv1.AppliedResource) {
	for i := range entries {
		if ownerlabels.PolicyOf(p.resourceOf(entries[i].ID)) == tenantv1.DeletionPolicyRetain && !p.succeeded(&entries[i]) {
			entries[i].DeletionPolicy = tenantv1.DeletionPolicyRetain
		}
	}
}

// succeeded reports whether the entry's resource now makes another object.
func (p *pass) succeeded(e *tenantv1.AppliedResource) bool {
	ref := refOf(e)
	return slices.ContainsFunc(p.plan.objects, func(o render.Object) bool {
		id := owned.IDOf(o.Object)
		if ref.Namespace == "" {
			id.Namespace = "" // the kind may have none
		}
		return o.ID == e.ID && id != ref.ID
	})
}

// keepHolders also retains what retained objects need: their namespaces, and copies for objects at
// a target.
func (p *pass) keepHolders(entries []tenantv1.AppliedResource, facts []decide.Made) {
	for i := range entries {
		if !facts[i].Retain || !facts[i].Exists || facts[i].Deleting {
			continue
		}
		for j := range entries {
			if p.holds(&entries[j], &entries[i]) {
				entries[j].DeletionPolicy, facts[j].Retain = tenantv1.DeletionPolicyRetain, true
			}
		}
	}
}

// holds reports whether an object cannot exist without another one.
func (p *pass) holds(holder, held *tenantv1.AppliedResource) bool {
	if holder.KubeConfig != held.KubeConfig || held.Namespace == "" {
		return false
	}
	if isNamespace(holder) {
		return holder.Name == held.Namespace
	}
	return holder.ID == copiesID && held.ID != copiesID && p.mayNeed(held, refOf(holder).ID)
}

func isNamespace(e *tenantv1.AppliedResource) bool { return refOf(e).GroupKind == namespaceKind }

// mayNeed reports whether an object needs another one's copy, as far as its manifest is known.
func (p *pass) mayNeed(e *tenantv1.AppliedResource, id owned.ID) bool {
	for _, o := range p.plan.objects {
		if o.ID == e.ID {
			return slices.Contains(refersTo(o.Object), id)
		}
	}
	return id.Namespace == e.Namespace
}

// livesIn names an object of the tenant in a namespace; empty for none and for other kinds.
func (p *pass) livesIn(namespace *tenantv1.AppliedResource) string {
	if !isNamespace(namespace) {
		return ""
	}
	broken := map[string]bool{}
	for _, it := range p.items {
		broken[it.id] = it.broken != ""
		if it.broken == "" && it.cluster.Name == namespace.KubeConfig && it.ref.Namespace == namespace.Name {
			return it.name()
		}
	}
	for i := range p.obj.Status.Inventory {
		if e := &p.obj.Status.Inventory[i]; broken[e.ID] && e.KubeConfig == namespace.KubeConfig && e.Namespace == namespace.Name {
			return owned.Name(refOf(e).ID)
		}
	}
	return ""
}

// hasElsewhere reports whether the tenant wants this very object under another name of the cluster:
// two kubeconfigs may lead to one.
func (p *pass) hasElsewhere(e *tenantv1.AppliedResource, uid types.UID) bool {
	for _, it := range p.items {
		if it.broken != "" {
			continue
		}
		if it.place() != placeOf(e) && it.uid() == uid {
			return true
		}
		for _, ref := range it.copies {
			at := place{it.cluster.Name, ref.ID}
			if d := p.memory.copies[at]; at != placeOf(e) && d.print != nil && d.print.UID == uid {
				return true
			}
		}
	}
	return false
}

// uid is the object's UID, if known.
func (it *item) uid() types.UID {
	switch {
	case it.live != nil:
		return it.live.UID
	case it.known != nil:
		return it.known.print.UID
	}
	return ""
}
