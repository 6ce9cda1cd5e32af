// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/cli/session"
)

// growTenants adds a registry's templates, a template's tenants, or a tenant's objects.
func (f *forest) growTenants(ctx context.Context, n *treeNode, o *session.Object, seen map[string]bool) error {
	switch o.Kind.GVK {
	case session.Tenants.GVK:
		return f.growTenant(ctx, n, o, seen)
	case session.TenantRegistries.GVK:
		// A template that a Kustomization applied is below that.
		return f.growFrom(ctx, n, o, session.TenantTemplates, "registryId", seen, func(t *session.Object) bool { return session.OwnerOf(t).Name == "" })
	case session.TenantTemplates.GVK:
		return f.growFrom(ctx, n, o, session.Tenants, "templateRef", seen, func(*session.Object) bool { return true })
	}
	return nil
}

// growFrom adds the objects of a kind whose spec names this one.
func (f *forest) growFrom(ctx context.Context, n *treeNode, o *session.Object, k session.Kind, field string, seen map[string]bool, wanted func(*session.Object) bool) error {
	found, err := f.list(ctx, k, o.GetNamespace())
	if err != nil {
		return err
	}
	for _, child := range inOrder(found) {
		if child.Text("spec", field) != o.GetName() || seen[child.String()] || !wanted(child) {
			continue
		}
		below, err := f.known(ctx, &treeNode{Namespace: child.GetNamespace(), Name: child.GetName()}, k, seen)
		if err != nil {
			return err
		}
		n.Children = append(n.Children, below)
	}
	return nil
}

// madeFrom is the template of a tenant, or the registry of a template; nil if there is none.
func (f *forest) madeFrom(ctx context.Context, o *session.Object) (*session.Object, error) {
	at := func(field string) types.NamespacedName {
		return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.Text("spec", field)}
	}
	switch o.Kind.GVK {
	case session.Tenants.GVK:
		return f.find(ctx, session.TenantTemplates, at("templateRef"))
	case session.TenantTemplates.GVK:
		return f.find(ctx, session.TenantRegistries, at("registryId"))
	}
	return nil, nil
}

func (f *forest) growTenant(ctx context.Context, n *treeNode, o *session.Object, seen map[string]bool) error {
	var tenant tenantv1.Tenant
	if err := o.As(&tenant); err != nil {
		return err
	}
	for _, entry := range tenant.Status.Inventory {
		gv, err := schema.ParseGroupVersion(entry.APIVersion)
		if err != nil {
			continue
		}
		child := &treeNode{Kind: entry.Kind, Group: gv.Group, Namespace: entry.Namespace, Name: entry.Name}
		k, ours := session.KindOf(schema.GroupKind{Group: gv.Group, Kind: entry.Kind})
		if f.compact && !ours {
			continue
		}
		// Objects of another cluster are not read.
		if ours && entry.Cluster == "" {
			if child, err = f.known(ctx, child, k, seen); err != nil {
				return err
			}
		}
		n.Children = append(n.Children, child)
	}
	return nil
}
