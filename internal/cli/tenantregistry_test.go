// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tenants/row"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// A label has no room for what an object may be called.
func TestTenantsOfARegistryWithALongName(t *testing.T) {
	ns, name := apitest.Namespace(t), strings.Repeat("customers-of-the-company.", 8)+"de"
	applyText(t, ns, strings.Replace(tenantOfWeb("acme", "pro", "2"), "registry: customers", "registry: "+row.RegistryLabel(name), 1))
	applyText(t, ns, strings.Replace(customers, "name: customers", "name: "+name, 1))
	applyText(t, ns, strings.Replace(webTemplate, "registryId: customers", "registryId: "+name, 1))
	yuba(t, ns, "tenant", "list", "--registry", name, "-o", "name").want(t, ui.ExitOK, "tenant.operator.kubernetes-tenants.org/acme-web\n")
	got := yuba(t, ns, "tenant", "render", "web", "--tenant", "acme")
	if got.code != ui.ExitOK || !strings.Contains(got.out, "acme-settings") {
		t.Errorf("exit %d\n%s\n%s", got.code, got.out, got.news)
	}
}
