// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package namespaces_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/applications/namespaces"
)

// forest is a tree in which requests come in any order.
type forest struct {
	grants map[string]*namespaces.Grant // by namespace
	parent map[string]string
	name   map[string]string
	used   map[string]int
}

func (f *forest) neighbours(keep func(namespace string) bool) (list []namespaces.Neighbour) {
	for _, at := range slices.Sorted(maps.Keys(f.grants)) {
		if keep(at) {
			list = append(list, namespaces.Neighbour{Name: f.name[at], Grant: f.grants[at]})
		}
	}
	return list
}

func related(a, b string) bool {
	return slices.Contains(cozystack.Chain(a), b) || slices.Contains(cozystack.Chain(b), a)
}

// request asks for a tenant, or for a change of one.
func (f *forest) request(t *testing.T, parent, name string, spec map[string]any) {
	t.Helper()
	own := cozystack.Child(parent, name)
	a := &namespaces.Ask{Tree: cozystack, Name: name, Parent: parent, Tenant: parent == cozystack.Root || f.grants[parent] != nil, Spec: spec,
		Above: f.grants[parent], Had: f.grants[own],
		Siblings: f.neighbours(func(at string) bool { return f.parent[at] == parent && at != own }),
		Children: f.neighbours(func(at string) bool { return f.parent[at] == own }),
		Others:   f.neighbours(func(at string) bool { return !related(at, own) })}
	if a.Above != nil && len(a.Above.Quota) > 0 {
		a.Used = grant(t, fmt.Sprint(f.used[parent]), "").Quota
	}
	if granted, refusal := a.Grant(); refusal == nil {
		f.grants[own], f.parent[own], f.name[own] = granted, parent, name
	}
}

// room is how many stacks a namespace may still get: what its quota leaves it.
func (f *forest) room(namespace string) int {
	g := f.grants[namespace]
	var children []namespaces.Child
	for at, parent := range f.parent {
		if parent == namespace && f.grants[at] != nil {
			children = append(children, namespaces.Child{Name: at, Quota: f.grants[at].Quota})
		}
	}
	left, limited := g.Quota.Left(children)[count]
	if !limited {
		return 1000
	}
	return int(left.Value())
}

// TestLaws makes trees of random requests and looks at every one of them.
func TestLaws(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same trees each time
	hosts := []string{"", "", "a.org", "b.a.org", "c.b.a.org", "x.org"}
	for range 300 {
		f := &forest{grants: map[string]*namespaces.Grant{}, parent: map[string]string{}, name: map[string]string{}, used: map[string]int{}}
		for range 40 {
			all := append(slices.Sorted(maps.Keys(f.grants)), cozystack.Root)
			parent := all[random.IntN(len(all))]
			switch random.IntN(4) {
			case 0: // a stack is created, as far as the quota of the namespace lets it
				if f.grants[parent] != nil && f.used[parent] < f.room(parent) {
					f.used[parent]++
				}
			case 1: // a tenant without tenants is deleted
				if f.grants[parent] != nil && !slices.Contains(slices.Collect(maps.Values(f.parent)), parent) {
					delete(f.grants, parent)
					delete(f.parent, parent)
					delete(f.used, parent)
				}
			default:
				spec := map[string]any{"host": hosts[random.IntN(len(hosts))]}
				if random.IntN(3) > 0 {
					spec["resourceQuotas"] = map[string]any{count: int64(random.IntN(12))}
				}
				f.request(t, parent, string(rune('a'+random.IntN(3))), spec)
			}
			f.check(t)
		}
	}
}

func (f *forest) check(t *testing.T) {
	t.Helper()
	for at, g := range f.grants {
		if hard, limited := g.Quota[count]; limited {
			sum := f.used[at]
			for child, parent := range f.parent {
				if parent != at {
					continue
				}
				amount, alsoLimited := f.grants[child].Quota[count]
				if !alsoLimited {
					t.Fatalf("%s has no limit, and its parent has", child)
				}
				sum += int(amount.Value())
			}
			// Who lowers a quota below what the namespace uses only stops it from using more.
			if promised := sum - f.used[at]; promised > int(hard.Value()) {
				t.Fatalf("the tenants in %s have %d of %s", at, promised, hard.String())
			}
		}
		for other, has := range f.grants {
			a, b := g.Values["host"], has.Values["host"]
			if at == other || related(at, other) || a == "" || b == "" {
				continue
			}
			if a == b || strings.HasSuffix(a, "."+b) {
				t.Fatalf("%s has %s, and %s has %s", at, a, other, b)
			}
			if cozystack.Related(at, other) {
				t.Fatalf("%s and %s are related, and are not", at, other)
			}
		}
	}
}

// TestGroupsHaveNoPowerElsewhere: no group of a tenant is bound outside its namespace and those below it.
func TestGroupsHaveNoPowerElsewhere(t *testing.T) {
	places := [][2]string{{"tenant-root", "a"}, {"tenant-root", "ab"}, {"tenant-a", "b"}, {"tenant-a", "admin"}, {"tenant-a", "view"}, {"tenant-a-b", "use"}, {"tenant-ab", "c"}}
	groups := map[string]string{} // and the namespace whose they are
	for _, place := range places {
		own := cozystack.Child(place[0], place[1])
		for _, level := range []string{"view", "use", "admin", "super-admin"} {
			group := namespaces.Group(own, level)
			if other := groups[group]; other != "" {
				t.Errorf("%s is a group of both %s and %s", group, other, own)
			}
			groups[group] = own
		}
	}
	for _, place := range places {
		tenant := &namespaces.Tenant{Tree: cozystack, Kind: "Tenant", Parent: place[0], Name: place[1], Grant: &namespaces.Grant{}}
		objects, err := tenant.Objects()
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			subjects, _ := o.Object["subjects"].([]any)
			for _, s := range subjects {
				group := s.(map[string]any)["name"].(string)
				if of := groups[group]; of != "" && !slices.Contains(cozystack.Chain(tenant.Namespace()), of) {
					t.Errorf("%s gives %s something, a group of %s", o.GetName(), group, of)
				}
			}
		}
	}
}
