// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
)

func TestTenantsCannotBeRestoredSuspended(t *testing.T) {
	to := func(verb decide.Verb, kind shape.Kind, name string) *pair {
		return &pair{kind: kind, item: decide.Item{Kind: kind.String(), Namespace: "team", Name: name, Verb: verb}}
	}
	g := &gathered{spaces: []*space{{name: "team", pairs: []*pair{
		to(decide.VerbCreate, shape.Stacks, "vpc"), to(decide.VerbCreate, shape.Kustomizations, "all"), to(decide.VerbCreate, shape.Secrets, "s"),
		to(decide.VerbCreate, shape.Tenants, "acme"), to(decide.VerbUpdate, shape.KindOf("TenantRegistry"), "customers"), to(decide.VerbSkip, shape.Tenants, "old"),
	}}}}
	if diff := cmp.Diff([]string{"Tenant team/acme", "TenantRegistry team/customers"}, g.unsuspendable()); diff != "" {
		t.Errorf("unsuspendable (-want +got):\n%s", diff)
	}
}
