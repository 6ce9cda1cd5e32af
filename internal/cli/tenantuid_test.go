// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// A row may call a tenant anything. A table stays one that fits a screen.
func TestALongUIDMakesNoWideTable(t *testing.T) {
	ns := apitest.Namespace(t)
	applyText(t, ns, strings.ReplaceAll(tenantOfWeb("acme", "pro", "2"), "\n  uid: acme\n", "\n  uid: "+strings.Repeat("x", 300)+"\n"))
	for args, want := range map[string]string{"tenant list": "xxx… ", "get tenants": "acme-web", "tree tenant acme-web": "acme-web", "kubectl get tenants": "acme-web"} {
		words := strings.Fields(args)
		if words[0] == "kubectl" {
			words = append([]string{"kubectl", "--kubeconfig", apitest.API(t).Kubeconfig(), "-n", ns}, words[1:]...)
		}
		answer := yuba(t, ns, words...)
		if answer.code != ui.ExitOK || !strings.Contains(answer.out, want) {
			t.Errorf("%s: code %d:\n%s%s", args, answer.code, answer.out, answer.news)
		}
		for line := range strings.Lines(answer.out) {
			if n := ui.Length(strings.TrimSpace(line)); n > 100 {
				t.Errorf("%s: a line of %d characters: %s", args, n, line)
			}
		}
	}
	if answer := yuba(t, ns, "tenant", "list", "-o", "json"); !strings.Contains(answer.out, `"`+strings.Repeat("x", 300)+`"`) {
		t.Error("the whole uid is not in JSON")
	}
}
