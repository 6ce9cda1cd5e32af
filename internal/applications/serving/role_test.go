// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package serving_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/serving"
)

// Tenants are namespaces: who may only edit a namespace makes none below it, unless the definition says so.
func TestWhichRolesIncludeAKind(t *testing.T) {
	const edit, admin = "rbac.authorization.k8s.io/aggregate-to-edit", "rbac.authorization.k8s.io/aggregate-to-admin"
	const user, tenant = "yuba.dev/aggregate-to-application-user", "yuba.dev/aggregate-to-tenant-admin"
	for name, c := range map[string]struct {
		rule    appv1.AggregateTo
		backend *appv1.Backend
		want    []string
	}{
		"Cozystack's form":       {"", nil, []string{edit, user, tenant}},
		"stacks":                 {"", &appv1.Backend{Type: appv1.BackendTerraform}, []string{edit, user, tenant}},
		"stacks, for edit":       {appv1.AggregateToEdit, &appv1.Backend{Type: appv1.BackendTerraform}, []string{edit, user, tenant}},
		"stacks, for admin":      {appv1.AggregateToAdmin, &appv1.Backend{Type: appv1.BackendTerraform}, []string{admin, tenant}},
		"stacks, for nobody":     {appv1.AggregateToNone, &appv1.Backend{Type: appv1.BackendTerraform}, nil},
		"tenants":                {"", &appv1.Backend{Type: appv1.BackendTenant}, []string{admin, tenant}},
		"tenants, for edit, too": {appv1.AggregateToEdit, &appv1.Backend{Type: appv1.BackendTenant}, []string{edit, user, tenant}},
		"tenants, for nobody":    {appv1.AggregateToNone, &appv1.Backend{Type: appv1.BackendTenant}, nil},
	} {
		d := &appv1.ApplicationDefinition{}
		d.Name, d.Spec.AggregateTo, d.Spec.Backend = "d", c.rule, c.backend
		want := map[string]string{appv1.LabelDefinition: "d"}
		for _, label := range c.want {
			want[label] = "true"
		}
		if diff := cmp.Diff(want, serving.Role(d, &apiextensionsv1.CustomResourceDefinition{}).Labels); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
