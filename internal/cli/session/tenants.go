// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

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
