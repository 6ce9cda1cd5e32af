// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

func TestARowFromAnAddress(t *testing.T) {
	template := &tenantv1.TenantTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
	template.Spec.Resources.Manifests = []tenantv1.TResource{{ID: "a", Spec: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"size": "{{ .size }}"}}}}}
	registry := &tenantv1.TenantRegistry{Spec: tenantv1.TenantRegistrySpec{ValueMappings: tenantv1.ValueMappings{UID: "id", Activate: "active"},
		ExtraValueMappings: map[string]string{"plan": "tier", "size": "tier"}}}
	for sentence, test := range map[string]struct {
		registry *tenantv1.TenantRegistry
		query    string
		want     string
		err      string
	}{
		"without values, the row is made up": {registry, "marks=x", "active=1(activate) id=sample(uid) tier=1(plan, size) invented flags=[]", ""},
		"a row":                              {registry, "col.id=acme&col.tier=a+b&col.active=1", "active=1(activate) id=acme(uid) tier=a b(plan, size) flags=[ --row active=1 --row id=acme --row 'tier=a b']", ""},
		"an empty field is NULL":             {registry, "col.id=acme&col.tier=&col.active=1&col.other=x", "active=1(activate) id=acme(uid) tier=(plan, size) flags=[ --row active=1 --row id=acme]", ""},
		"a row that is not active": {registry, "col.id=acme", "active=(activate) id=acme(uid) tier=(plan, size) flags=[ --row id=acme]" +
			` note=This row is not active (active is ""), and has no tenant.`, ""},
		"no uid": {registry, "col.tier=x", "active=(activate) id=(uid) tier=x(plan, size) flags=[ --row tier=x]", `the column "id" is empty: a tenant needs a uid`},
		"without a registry, the template's variables": {nil, "", "activate=1(activate) hostOrUrl=https://sample.example.com(hostOrUrl) size=1(size) uid=sample(uid) invented flags=[]", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			q, err := url.ParseQuery(test.query)
			if err != nil {
				t.Fatal(err)
			}
			var tried trial
			_, invented, err := tried.read(q, template, test.registry)
			if got := fmt.Sprint(err); test.err != "" && got != test.err || test.err == "" && err != nil {
				t.Errorf("%s, want %q", got, test.err)
			}
			var words []string
			for _, c := range tried.Columns {
				words = append(words, fmt.Sprintf("%s=%s(%s)", c.Name, c.Value, c.Variables))
			}
			if invented {
				words = append(words, "invented")
			}
			words = append(words, "flags=["+tried.flags(invented)+"]")
			for _, note := range tried.Notes {
				words = append(words, "note="+note)
			}
			if got := strings.Join(words, " "); got != test.want {
				t.Errorf("%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// People copy the command.
func TestShellWords(t *testing.T) {
	for word, want := range map[string]string{"id=acme": "id=acme", "a b": "'a b'", "$(rm -rf /)": "'$(rm -rf /)'", "it's": `'it'\''s'`, "a\n;b\u202e": "'a;b'", "`x`": "'`x`'", "é": "é", "*": "'*'"} {
		if got := shellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
