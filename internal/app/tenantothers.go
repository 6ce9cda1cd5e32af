// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// tenantOperatorLease is the suffix of the Lease of Tenant Operator's leader election.
const tenantOperatorLease = ".kubernetes-tenants.org"

// fieldsOfYuba are fields that the published CRDs of tenants lack. Without them an API silently
// drops a tenant's numbers, its inventory with clusters, and held deletions.
var fieldsOfYuba = []struct {
	resource, kind string
	field          []string
}{
	{"tenantregistries", tenantv1.TenantRegistryKind, []string{"status", "held"}},
	{"tenanttemplates", tenantv1.TenantTemplateKind, []string{"spec", "kubeConfig"}},
	{"tenants", tenantv1.TenantKind, []string{"spec", "allocations"}},
	{"tenants", tenantv1.TenantKind, []string{"status", "inventory"}},
}

// tenantsOfOthers says why Yuba must leave the tenants on this API alone; empty if it need not.
// Yuba can still manage stacks that Tenant Operator creates, so this does not prevent a start.
// Without permission to check, it returns "".
func tenantsOfOthers(ctx context.Context, c client.Client, now time.Time) (string, error) {
	l, err := livingLeader(ctx, c, endsWith(tenantOperatorLease), now)
	if err != nil {
		return "", fmt.Errorf("check for a running Tenant Operator: %w", err)
	}
	if l != nil {
		return fmt.Sprintf("a Tenant Operator is running on this API (%s), and both would work on the same tenants. To let Yuba manage them, stop it and restart "+
			"Yuba:\n    kubectl -n %s scale deployment tenant-operator-controller-manager --replicas=0", leaderInWords(l, now), l.Namespace), nil
	}
	for _, f := range fieldsOfYuba {
		definition, err := definitionOf(ctx, c, f.resource+"."+tenantv1.GroupVersion.Group)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		case err != nil:
			return "", fmt.Errorf("read the definition of the kind %s: %w", f.kind, err)
		case !hasField(definition, tenantv1.GroupVersion.Version, f.field...):
			return fmt.Sprintf("the API serves Tenant Operator's version of the kind %s, which would drop fields that Yuba writes. %s", f.kind, install+" --take-tenants"), nil
		}
	}
	return "", nil
}
