// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package namespaces_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/applications/namespaces"
)

var cozystack = namespaces.Tree{Root: "tenant-root", Prefix: "tenant-"}

func TestNamesOfNamespaces(t *testing.T) {
	for sentence, test := range map[string]struct {
		tree         namespaces.Tree
		parent, name string
		want         string
		chain        []string
	}{
		"in the root":       {cozystack, "tenant-root", "foo", "tenant-foo", []string{"tenant-root", "tenant-foo"}},
		"in a tenant":       {cozystack, "tenant-foo", "bar", "tenant-foo-bar", []string{"tenant-root", "tenant-foo", "tenant-foo-bar"}},
		"three levels down": {cozystack, "tenant-foo-bar", "x1", "tenant-foo-bar-x1", []string{"tenant-root", "tenant-foo", "tenant-foo-bar", "tenant-foo-bar-x1"}},
		"the root itself":   {cozystack, "tenant-root", "root", "tenant-root", []string{"tenant-root"}},
		"root in a tenant":  {cozystack, "tenant-foo", "root", "tenant-foo-root", []string{"tenant-root", "tenant-foo", "tenant-foo-root"}},
		"another tree":      {namespaces.Tree{Root: "platform", Prefix: "team-x-"}, "team-x-a", "b", "team-x-a-b", []string{"platform", "team-x-a", "team-x-a-b"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := test.tree.Child(test.parent, test.name)
			if got != test.want {
				t.Errorf("the namespace is %s, want %s", got, test.want)
			}
			if diff := cmp.Diff(test.chain, test.tree.Chain(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// ask is a request for a tenant foo in the root, changed.
func ask(change func(*namespaces.Ask)) *namespaces.Ask {
	a := &namespaces.Ask{Tree: cozystack, Name: "foo", Parent: "tenant-root", Tenant: true, Spec: map[string]any{}}
	change(a)
	return a
}

// grant has a quota of stacks, and a host; none of both if empty.
func grant(t *testing.T, stacks, host string) *namespaces.Grant {
	t.Helper()
	g := &namespaces.Grant{Values: map[string]string{"host": host}}
	if stacks != "" {
		var err error
		if g.Quota, err = namespaces.ReadQuota(map[string]any{count: stacks}); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

const count = "count/terraforms.infra.contrib.fluxcd.io"

func TestGrant(t *testing.T) {
	below := func(a *namespaces.Ask) {
		a.Name, a.Parent, a.Above = "bar", "tenant-foo", grant(t, "10", "foo.example.org")
	}
	limit := func(n any) map[string]any { return map[string]any{"resourceQuotas": map[string]any{count: n}} }
	const many = "count/tenants.apps.cozystack.io"
	tenants := func(n string) *namespaces.Grant {
		quota, err := namespaces.ReadQuota(map[string]any{many: n})
		if err != nil {
			t.Fatal(err)
		}
		return &namespaces.Grant{Quota: quota}
	}
	crowd := func(a *namespaces.Ask, parents, own string) {
		below(a)
		a.Counts, a.Above, a.Used, a.Spec = many, tenants(parents), tenants("1").Quota, map[string]any{"resourceQuotas": map[string]any{many: own}}
	}
	for sentence, test := range map[string]struct {
		ask *namespaces.Ask
		// values are granted, or the refusal contains all of says.
		values map[string]string
		says   []string
	}{
		"a tenant of a root that says nothing": {ask: ask(func(*namespaces.Ask) {}), values: map[string]string{}},
		"a host is inherited": {ask: ask(func(a *namespaces.Ask) { below(a); a.Spec = limit(int64(3)) }),
			values: map[string]string{"host": "bar.foo.example.org"}},
		"a module is the nearest ancestor's, a class the highest's": {ask: ask(func(a *namespaces.Ask) {
			a.Above = &namespaces.Grant{Values: map[string]string{"etcd": "tenant-root", "ingress": "tenant-root", "schedulingClass": "fast"}}
			a.Spec = map[string]any{"ingress": true, "etcd": false, "schedulingClass": "slow"}
		}), values: map[string]string{"etcd": "tenant-root", "ingress": "tenant-foo", "schedulingClass": "fast"}},
		"the root has the platform's host": {ask: ask(func(a *namespaces.Ask) { a.Name, a.Above = "root", grant(t, "", "example.org") }), values: map[string]string{"host": "example.org"}},
		"a name with a dash":               {ask: ask(func(a *namespaces.Ask) { a.Name = "a-b" }), says: []string{`"a-b" cannot name a tenant`}},
		"a name that gives others more":    {ask: ask(func(a *namespaces.Ask) { below(a); a.Name = "super" }), says: []string{"tenant-foo-super-admin", "Choose another name"}},
		"a namespace that is too long":     {ask: ask(func(a *namespaces.Ask) { below(a); a.Name = strings.Repeat("x", 53) }), says: []string{"64 characters", "at most 63"}},
		"a foreign parent":                 {ask: ask(func(a *namespaces.Ask) { a.Parent, a.Tenant = "kube-system", false }), says: []string{"kube-system is not a tenant's", "tenant-root"}},
		"a parent that goes":               {ask: ask(func(a *namespaces.Ask) { below(a); a.Leaving = true }), says: []string{"tenant-foo, is being deleted"}},
		"a tenant that has its namespace stays when its parent goes": {ask: ask(func(a *namespaces.Ask) {
			below(a)
			a.Leaving, a.Had, a.Spec = true, grant(t, "3", "bar.foo.example.org"), limit("3")
		}), values: map[string]string{"host": "bar.foo.example.org"}},
		"no quota below a quota": {ask: ask(below), says: []string{"set " + count, "10 of tenant-foo", "10 are left"}},
		"more than the parent has left": {ask: ask(func(a *namespaces.Ask) {
			below(a)
			a.Spec, a.Used, a.Siblings = limit("6"), grant(t, "2", "").Quota, []namespaces.Neighbour{{Name: "baz", Grant: grant(t, "3", "")}}
		}), says: []string{"6 of " + count + " are too many", "it uses 2 itself", "have 3 (baz 3)", "5 are left"}},
		"as much as the parent has left": {ask: ask(func(a *namespaces.Ask) {
			below(a)
			a.Spec, a.Used, a.Siblings = limit("5"), grant(t, "2", "").Quota, []namespaces.Neighbour{{Name: "baz", Grant: grant(t, "3", "")}}
		}), values: map[string]string{"host": "bar.foo.example.org"}},
		"less than its children have": {ask: ask(func(a *namespaces.Ask) {
			a.Spec, a.Children = limit("5"), []namespaces.Neighbour{{Name: "bar", Grant: grant(t, "4", "")}, {Name: "baz", Grant: grant(t, "2", "")}}
		}), says: []string{"5 of " + count + " are too few", "6 (bar 4, baz 2)"}},
		"a limit that a child does not have": {ask: ask(func(a *namespaces.Ask) {
			a.Spec, a.Children = limit("5"), []namespaces.Neighbour{{Name: "bar", Grant: grant(t, "", "")}}
		}), says: []string{"cannot be limited while the tenant bar"}},
		"what it has, it keeps while its parent has too little": {ask: ask(func(a *namespaces.Ask) {
			below(a)
			a.Above, a.Had, a.Spec = grant(t, "1", "foo.example.org"), grant(t, "3", ""), limit("3")
		}), values: map[string]string{"host": "bar.foo.example.org"}},
		"a tenant more than the parent may have": {ask: ask(func(a *namespaces.Ask) { crowd(a, "3", "0"); a.Made = 3 }),
			says: []string{"too many tenants in tenant-foo", many + " is 3", "3 others already"}},
		"one with a quota for tenants, of which none are left": {ask: ask(func(a *namespaces.Ask) { crowd(a, "3", "1"); a.Made = 2 }),
			says: []string{"1 of " + many + " are too many", "it uses 3 itself"}},
		"the parent's other tenants have what it would need": {ask: ask(func(a *namespaces.Ask) {
			crowd(a, "3", "0")
			a.Made, a.Siblings = 1, []namespaces.Neighbour{{Name: "baz", Grant: tenants("2")}}
		}), says: []string{"too many tenants", "have 2 of these (baz 2)"}},
		"the last tenant that the parent may have": {ask: ask(func(a *namespaces.Ask) { crowd(a, "3", "0"); a.Made = 2 }),
			values: map[string]string{}},
		"a tenant that is there, of too many, keeps what it has": {ask: ask(func(a *namespaces.Ask) { crowd(a, "3", "0"); a.Made, a.Had = 5, tenants("0") }),
			values: map[string]string{}},
		"a resource that nobody knows": {ask: ask(func(a *namespaces.Ask) { a.Spec = map[string]any{"resourceQuotas": map[string]any{"stacks": "1"}} }), says: []string{"resourceQuotas.stacks", "count/RESOURCE.GROUP"}},
		"half a stack":                 {ask: ask(func(a *namespaces.Ask) { a.Spec = limit("500m") }), says: []string{"500m is not a whole number"}},
		"an amount that is none":       {ask: ask(func(a *namespaces.Ask) { a.Spec = limit("many") }), says: []string{"many is not an amount"}},
		"a negative amount":            {ask: ask(func(a *namespaces.Ask) { a.Spec = limit("-1") }), says: []string{"-1 is not an amount"}},
		"cpu twice": {ask: ask(func(a *namespaces.Ask) {
			a.Spec = map[string]any{"resourceQuotas": map[string]any{"cpu": "1", "limits.cpu": "1"}}
		}), says: []string{"limited twice"}},
		"a host that is none":     {ask: ask(func(a *namespaces.Ask) { a.Spec = map[string]any{"host": "Foo Bar"} }), says: []string{"is not a domain"}},
		"a module that is a text": {ask: ask(func(a *namespaces.Ask) { a.Spec = map[string]any{"etcd": "yes"} }), says: []string{"etcd must be true or false"}},
		"the parent's own host": {ask: ask(func(a *namespaces.Ask) {
			a.Above, a.Spec = grant(t, "", "example.org"), map[string]any{"host": "example.org"}
		}), says: []string{"that is the host of tenant-root"}},
		"a host outside the parent's": {ask: ask(func(a *namespaces.Ask) { below(a); a.Spec = limit("1"); a.Spec["host"] = "other.example.org" }), says: []string{"not below foo.example.org"}},
		"a host of a hostless parent": {ask: ask(func(a *namespaces.Ask) { below(a); a.Above, a.Spec = grant(t, "", ""), map[string]any{"host": "a.org"} }), says: []string{"tenant-foo, has none"}},
		"another domain below the root": {ask: ask(func(a *namespaces.Ask) {
			a.Above, a.Spec = grant(t, "", "example.org"), map[string]any{"host": "customer.io"}
		}), values: map[string]string{"host": "customer.io"}},
		"a stranger's host": {ask: ask(func(a *namespaces.Ask) {
			a.Others, a.Spec = []namespaces.Neighbour{{Name: "rival", Grant: grant(t, "", "customer.io")}}, map[string]any{"host": "app.customer.io"}
		}), says: []string{"another tenant has customer.io"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, refusal := test.ask.Grant()
			if refusal != nil {
				if len(test.says) == 0 {
					t.Fatalf("refused: %s", refusal.Says)
				}
				for _, part := range test.says {
					if !strings.Contains(refusal.Says, part) {
						t.Errorf("%q does not say %q", refusal.Says, part)
					}
				}
				return
			}
			if len(test.says) > 0 {
				t.Fatalf("granted %+v", got)
			}
			for key, value := range got.Values {
				if value == "" {
					delete(got.Values, key)
				}
			}
			if diff := cmp.Diff(test.values, got.Values); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	quota, err := namespaces.ReadQuota(map[string]any{"cpu": int64(4), "memory": "8Gi", "storage": "100Gi", "count/terraforms.infra.contrib.fluxcd.io": int64(5)})
	if err != nil {
		t.Fatal(err)
	}
	was := &namespaces.Grant{Quota: quota, Values: map[string]string{"host": "a.org", "etcd": ""}}
	if is := namespaces.ReadGrant(was.Text()); !was.Same(is) || len(is.Quota) != 6 {
		t.Errorf("%s became %+v", was.Text(), is)
	}
	for _, text := range []string{"", "{", `{"quota":{"cpu":"many"}}`} {
		if is := namespaces.ReadGrant(text); is != nil {
			t.Errorf("%q is read as %+v", text, is)
		}
	}
}
