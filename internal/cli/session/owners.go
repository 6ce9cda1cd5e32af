// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// TenantOf is the Tenant that an object belongs to, by its owner reference or, for objects
// elsewhere, by its labels. Without one it has no name.
func TenantOf(o client.Object) types.NamespacedName {
	for _, ref := range o.GetOwnerReferences() {
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err == nil && gv.Group == tenantv1.GroupVersion.Group && ref.Kind == tenantv1.TenantKind {
			return types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}
		}
	}
	marks := o.GetLabels()
	if marks[tenantv1.LabelTenant] == "" || marks[tenantv1.LabelOrphaned] != "" {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: cmp.Or(marks[tenantv1.LabelTenantNamespace], o.GetNamespace()), Name: marks[tenantv1.LabelTenant]}
}

// The labels that a Kustomization sets on the objects that it applies.
const (
	LabelOwnerName      = "kustomize.toolkit.fluxcd.io/name"
	LabelOwnerNamespace = "kustomize.toolkit.fluxcd.io/namespace"
)

// OwnerOf is the Kustomization that an object's labels name; without one it has no name.
func OwnerOf(o client.Object) types.NamespacedName {
	labels := o.GetLabels()
	return types.NamespacedName{Namespace: cmp.Or(labels[LabelOwnerNamespace], o.GetNamespace()), Name: labels[LabelOwnerName]}
}

// TenantsOf are the tenants of a registry.
func (s *Session) TenantsOf(ctx context.Context, namespace, registry string) ([]*tenantv1.Tenant, error) {
	objects, _, err := s.ListObjects(ctx, Tenants, namespace, client.MatchingLabels{tenantv1.LabelRegistry: row.RegistryLabel(registry)})
	if err != nil {
		return nil, err
	}
	all := make([]*tenantv1.Tenant, 0, len(objects))
	for _, o := range objects {
		tenant := &tenantv1.Tenant{}
		if err := o.As(tenant); err != nil {
			return nil, err
		}
		all = append(all, tenant)
	}
	return all, nil
}
