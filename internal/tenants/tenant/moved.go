// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
)

// leaveMoved leaves a tenant that another home works on alone. Its deletion keeps its objects: those
// of kinds that do not move exist only here.
func (r *Controller) leaveMoved(ctx context.Context, p *pass) error {
	if p.obj.DeletionTimestamp.IsZero() {
		passes.SetMoved(p.obj, tenantv1.ConditionReady)
		passes.SetCondition(p.obj, tenantv1.ConditionProgressing, metav1.ConditionFalse, tenantv1.ReasonReconcileComplete, "nothing is in progress")
		return client.IgnoreNotFound(r.patchTenant(ctx, p))
	}
	if !slices.Contains(p.obj.Finalizers, tenantv1.Finalizer) {
		return nil
	}
	p.plan = makePlan(p.obj)
	p.completeInventory()
	if p.unrecorded() && p.plan.graph != nil {
		// An incomplete first pass may have created objects.
		if err := p.gatherItems(ctx, r); err != nil {
			return err
		}
		p.obj.Status.Inventory = p.inventory(true)
	}
	if err := r.disownAll(ctx, p); err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(p.obj.Finalizers), func(f string) bool { return f == tenantv1.Finalizer })
	return client.IgnoreNotFound(r.SetFinalizers(ctx, p.obj, p.before, kept))
}

// disownAll removes the owner references to the tenant, which the garbage collector follows. Objects
// in other clusters and namespaces have none.
func (r *Controller) disownAll(ctx context.Context, p *pass) error {
	g := errgroup.Group{}
	g.SetLimit(concurrency)
	for i := range p.obj.Status.Inventory {
		e := &p.obj.Status.Inventory[i]
		if e.Cluster != "" || e.Namespace != p.obj.Namespace {
			continue
		}
		g.Go(func() error {
			if err := r.disown(ctx, p, e); err != nil {
				return fmt.Errorf("keep %s of the moved Tenant %s: %w", owned.Name(refOf(e).ID), p.owner, err)
			}
			return nil
		})
	}
	return g.Wait()
}

func (r *Controller) disown(ctx context.Context, p *pass, e *tenantv1.AppliedResource) error {
	live, err := p.find(ctx, p.home, e)
	if err != nil || live == nil || !p.marks(p.home).Refers(live) {
		return err
	}
	gvk, err := servedAs(p.home, e)
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	ref := refOf(e)
	ref.Version = gvk.Version
	_, err = r.engine.Remove(ctx, &p.home.Cluster, ref, live, p.marks(p.home).Orphan(live, tenantv1.OrphanedTenantDeleted, r.Now()))
	return err
}
