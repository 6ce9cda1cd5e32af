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

// tenantOperatorLease ends the name of the Lease by which the Tenant Operator elects its leader.
const tenantOperatorLease = ".kubernetes-tenants.org"

// fieldsOfYuba are fields that the published definitions of the kinds of tenants lack. Without them an API drops, without a word,
// which numbers a tenant has, what belongs to it, where that is, and what is held back.
var fieldsOfYuba = []struct {
	resource, kind string
	field          []string
}{
	{"tenantregistries", tenantv1.TenantRegistryKind, []string{"status", "held"}},
	{"tenanttemplates", tenantv1.TenantTemplateKind, []string{"spec", "kubeConfig"}},
	{"tenants", tenantv1.TenantKind, []string{"spec", "allocations"}},
	{"tenants", tenantv1.TenantKind, []string{"status", "inventory"}},
}

// tenantsOfOthers says why tenants on this API are to be left alone; empty when they are not. Stacks can be Yuba's where a Tenant
// Operator makes them, so that this is no reason not to start. Who may not look goes on.
func tenantsOfOthers(ctx context.Context, c client.Client, now time.Time) (string, error) {
	l, err := livingLeader(ctx, c, tenantOperatorLease, now)
	if err != nil {
		return "", fmt.Errorf("look for a living Tenant Operator: %w", err)
	}
	if l != nil {
		return fmt.Sprintf("a Tenant Operator is alive on this API (%s), and both would work on the same tenants. To have Yuba look after them, stop it, and start "+
			"Yuba anew:\n    kubectl -n %s scale deployment tenant-operator-controller-manager --replicas=0", leaderInWords(l, now), l.Namespace), nil
	}
	for _, f := range fieldsOfYuba {
		definition, err := definitionOf(ctx, c, f.resource+"."+tenantv1.GroupVersion.Group)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		case err != nil:
			return "", fmt.Errorf("look at the definition of the kind %s: %w", f.kind, err)
		case !hasField(definition, tenantv1.GroupVersion.Version, f.field...):
			return fmt.Sprintf("the API serves the Tenant Operator's version of the kind %s, which would drop what Yuba writes. %s", f.kind, install), nil
		}
	}
	return "", nil
}
