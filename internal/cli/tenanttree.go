// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// growTenants adds the templates of a registry, the tenants of a template, or what a tenant has.
func (f *forest) growTenants(ctx context.Context, n *treeNode, o *object, seen map[string]bool) error {
	switch o.kind.gvk {
	case tenants.gvk:
		return f.growTenant(ctx, n, o, seen)
	case tenantRegistries.gvk:
		// A template that a Kustomization applied stands below that.
		return f.growFrom(ctx, n, o, tenantTemplates, "registryId", seen, func(t *object) bool { return t.owner().Name == "" })
	case tenantTemplates.gvk:
		return f.growFrom(ctx, n, o, tenants, "templateRef", seen, func(*object) bool { return true })
	}
	return nil
}

// growFrom adds the objects of a kind that name this one in a field of their spec.
func (f *forest) growFrom(ctx context.Context, n *treeNode, o *object, k kind, field string, seen map[string]bool, wanted func(*object) bool) error {
	found, err := f.list(ctx, k, o.GetNamespace())
	if err != nil {
		return err
	}
	for _, child := range inOrder(found) {
		if child.text("spec", field) != o.GetName() || seen[child.String()] || !wanted(child) {
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

// madeFrom is the template of a tenant, or the registry of a template; nil when it is neither, or that is gone.
func (f *forest) madeFrom(ctx context.Context, o *object) (*object, error) {
	at := func(field string) types.NamespacedName {
		return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.text("spec", field)}
	}
	switch o.kind.gvk {
	case tenants.gvk:
		return f.find(ctx, tenantTemplates, at("templateRef"))
	case tenantTemplates.gvk:
		return f.find(ctx, tenantRegistries, at("registryId"))
	}
	return nil, nil
}

// growTenant adds what a tenant has.
func (f *forest) growTenant(ctx context.Context, n *treeNode, o *object, seen map[string]bool) error {
	var tenant tenantv1.Tenant
	if err := o.as(&tenant); err != nil {
		return err
	}
	for _, entry := range tenant.Status.Inventory {
		gv, err := schema.ParseGroupVersion(entry.APIVersion)
		if err != nil {
			continue
		}
		child := &treeNode{Kind: entry.Kind, Group: gv.Group, Namespace: entry.Namespace, Name: entry.Name}
		k, ours := kindOf(schema.GroupKind{Group: gv.Group, Kind: entry.Kind})
		if f.compact && !ours {
			continue
		}
		// What is on another cluster is not looked at here.
		if ours && entry.Cluster == "" {
			if child, err = f.known(ctx, child, k, seen); err != nil {
				return err
			}
		}
		n.Children = append(n.Children, child)
	}
	return nil
}
