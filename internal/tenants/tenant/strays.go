// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/ownerlabels"
)

// A Tenant without its finalizer is deleted without its objects. The garbage collector deletes
// those with an owner reference. Report the others.

// far lists the inventory's objects without an owner reference.
func (p *pass) far() []place {
	var list []place
	for i := range p.obj.Status.Inventory {
		e := &p.obj.Status.Inventory[i]
		if e.KubeConfig != "" || e.Namespace != p.obj.Namespace || e.DeletionPolicy == tenantv1.DeletionPolicyRetain {
			list = append(list, placeOf(e))
		}
	}
	return list
}

// tellStrays reports the objects left by a tenant without a finalizer.
func (r *Controller) tellStrays(owner owned.Owner) {
	there := r.memories.strays(owner)
	if m := r.memories.read(owner); m != nil {
		for _, at := range m.far {
			c := r.Clusters.Of(at.cluster, owner)
			if c == nil {
				continue
			}
			if live, _ := c.Watch.Get(at.id); live != nil && ownerlabels.Stray(live, owner, c.Seal) {
				there[at] = true
			}
		}
	}
	var names []string
	for at := range there {
		name := owned.Name(at.id)
		if at.cluster != "" {
			name += fmt.Sprintf(" (in the cluster of the kubeconfig in %s)", at.cluster)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	left := decide.List(names)
	text := "the tenant is gone, but these objects of it remain without an owner: " + left + ". Delete them, or create the tenant again, which adopts them"
	if len(names) == 0 || !r.memories.tellsStrays(owner, text) {
		return
	}
	r.Log.Warn("a tenant is gone without its objects", "tenant", owner.String(), "objects", left)
	gone := &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name}}
	r.Event(gone, corev1.EventTypeWarning, tenantv1.EventOrphanedResourceRetained, text)
}

// stray records an object whose tenant had no pass yet, and may not exist.
func (b *memories) stray(owner owned.Owner, at place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all[owner] != nil {
		return
	}
	if b.unclaimed[owner] == nil {
		b.unclaimed[owner] = map[place]bool{}
	}
	b.unclaimed[owner][at] = true
}

// strays returns those objects and forgets them.
func (b *memories) strays(owner owned.Owner) map[place]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.unclaimed[owner]
	delete(b.unclaimed, owner)
	if left == nil {
		left = map[place]bool{}
	}
	return left
}

// tellsStrays records a report, and returns whether it is news.
func (b *memories) tellsStrays(owner owned.Owner, text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.toldStrays[owner] == text {
		return false
	}
	b.toldStrays[owner] = text
	return true
}
