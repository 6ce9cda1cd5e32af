// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Keys of values.
const (
	hostKey       = "host"
	schedulingKey = "schedulingClass"
)

// Modules are the modules of a definition that names none.
var Modules = []string{"etcd", "gateway", "ingress", "monitoring", "seaweedfs"}

// Ask is what an instance asks for, and what is known of its place in the tree.
type Ask struct {
	Tree
	// Name and Parent are the instance's name and namespace. Spec has its defaults.
	Name, Parent string
	Spec         map[string]any
	Modules      []string
	// Tenant: the parent is the root, or a tenant's namespace. Leaving: it is being deleted.
	Tenant, Leaving bool
	// Above is the parent's grant; nil for a root that nobody describes. Used is what its namespace uses.
	Above *Grant
	Used  Quota
	// Siblings are the other tenants of the parent, Children those of this one, and Others all that are
	// neither its ancestors nor its descendants.
	Siblings, Children, Others []Neighbour
	// Made is how many other namespaces the instances in the parent have made, also those that are gone and
	// have left them. Counts names the number of tenants in a quota.
	Made   int
	Counts string
	// Had is the tenant's grant; nil for none yet.
	Had *Grant
}

// Neighbour is another tenant.
type Neighbour struct {
	Name string
	*Grant
}

// Refusal is why an instance does not get what it asks for. Wrong: it has to change; otherwise, it may fit
// later.
type Refusal struct {
	Says  string
	Wrong bool
}

// Namespace is the namespace of the tenant.
func (a *Ask) Namespace() string { return a.Child(a.Parent, a.Name) }

// IsRoot reports whether the instance describes the root.
func (a *Ask) IsRoot() bool { return a.Namespace() == a.Root && a.Parent == a.Root }

// Grant grants what an instance asks for, or says why not.
func (a *Ask) Grant() (*Grant, *Refusal) {
	if bad := a.bad(a.Parent, a.Name); bad != "" {
		return nil, &Refusal{Says: bad, Wrong: true}
	}
	switch {
	case !a.Tenant:
		return nil, &Refusal{Says: fmt.Sprintf("the namespace %s is not a tenant's. Create it in %s, or in the namespace of one of its tenants", a.Parent, a.Root)}
	case a.Leaving && a.Had == nil:
		return nil, &Refusal{Says: fmt.Sprintf("the parent, %s, is being deleted. Create it in another namespace", a.Parent)}
	}
	quota, err := ReadQuota(a.Spec["resourceQuotas"])
	if err != nil {
		return nil, &Refusal{Says: err.Error(), Wrong: true}
	}
	values, wrong := a.values()
	if wrong != "" {
		return nil, &Refusal{Says: wrong, Wrong: true}
	}
	for _, refused := range []string{a.refuseQuota(quota), a.refuseHost(values[hostKey])} {
		if refused != "" {
			return nil, &Refusal{Says: refused}
		}
	}
	return &Grant{Quota: quota, Values: values}, nil
}

// Grows reports whether the instance asks for more than it has, so that [Ask.Used] matters.
func (a *Ask) Grows() bool {
	quota, err := ReadQuota(a.Spec["resourceQuotas"])
	return err == nil && a.Above != nil && len(a.Above.Quota) > 0 && !a.IsRoot() && (a.Had == nil || quota.grows(a.Had.Quota))
}

func (a *Ask) refuseQuota(quota Quota) string {
	if small := quota.tooSmall(quotas(a.Children)); small != "" {
		return "the quota of the tenants in it must fit into resourceQuotas: " + small
	}
	// What a tenant has, it may keep: its parent cannot take it back.
	if a.Grows() {
		if many := a.tooMany(); many != "" {
			return many
		}
		if much := a.Above.Quota.tooMuch(a.Parent, quota, quotas(a.Siblings), a.uses()); much != "" {
			return "resourceQuotas must fit into the parent's quota: " + much
		}
	}
	return ""
}

// tooMany says why the parent can have no further tenant; empty if it can. The API counts instances, and
// not the namespaces that abandoned ones have left.
func (a *Ask) tooMany() string {
	hard, limited := a.Above.Quota[a.Counts]
	if !limited || a.Had != nil {
		return ""
	}
	promised, names := promises(quotas(a.Siblings), a.Counts)
	left := hard.DeepCopy()
	left.Sub(promised)
	if left.CmpInt64(int64(a.Made)+1) >= 0 {
		return ""
	}
	return fmt.Sprintf("there are too many tenants in %s: %s is %s, its tenants have %s of these%s, and there are %d others already, with those that left their namespaces when they were deleted. Create one of the same name, and delete it without abandoning it, or ask for a larger quota",
		a.Parent, a.Counts, hard.String(), promised.String(), names, a.Made)
}

// uses is what the parent's namespace uses, with the tenants that have left their namespaces.
func (a *Ask) uses() Quota {
	made := *resource.NewQuantity(int64(a.Made)+1, resource.DecimalSI)
	if used, ok := a.Used[a.Counts]; a.Counts == "" || ok && used.Cmp(made) >= 0 {
		return a.Used
	}
	uses := maps.Clone(a.Used)
	if uses == nil {
		uses = Quota{}
	}
	uses[a.Counts] = made
	return uses
}

func quotas(of []Neighbour) (list []Child) {
	for _, n := range of {
		if n.Grant != nil {
			list = append(list, Child{Name: n.Name, Quota: n.Quota})
		}
	}
	return list
}

// values are the values of the tenant, and its children's if they have none of their own.
func (a *Ask) values() (values map[string]string, wrong string) {
	above := map[string]string{}
	if a.Above != nil {
		above = a.Above.Values
	}
	values = map[string]string{}
	for _, module := range a.modules() {
		has, ok := a.Spec[module].(bool)
		if !ok && a.Spec[module] != nil {
			return nil, fmt.Sprintf("%s must be true or false", module)
		}
		values[module] = above[module]
		if has {
			values[module] = a.Namespace()
		}
	}
	host, ok := a.Spec[hostKey].(string)
	class, alsoOK := a.Spec[schedulingKey].(string)
	switch {
	case !ok && a.Spec[hostKey] != nil || !alsoOK && a.Spec[schedulingKey] != nil:
		return nil, "host and schedulingClass must be texts"
	case host == "" && a.IsRoot():
		host = above[hostKey]
	case host == "" && above[hostKey] != "":
		host = a.Name + "." + above[hostKey]
	}
	if host != "" && len(validation.IsDNS1123Subdomain(host)) > 0 {
		return nil, fmt.Sprintf("the host %q is not a domain such as foo.example.org, in lower case and of at most 253 characters", host)
	}
	// Who is above decides for all below.
	if above[schedulingKey] != "" && (!a.IsRoot() || class == "") {
		class = above[schedulingKey]
	}
	if class != "" && len(validation.IsValidLabelValue(class)) > 0 {
		return nil, fmt.Sprintf("the schedulingClass %q cannot be a label's value", class)
	}
	values[hostKey] = host
	if class != "" {
		values[schedulingKey] = class
	}
	return values, ""
}

func (a *Ask) modules() []string {
	if len(a.Modules) > 0 {
		return a.Modules
	}
	return Modules
}

// refuseHost says why the tenant cannot have a host; empty if it can.
func (a *Ask) refuseHost(host string) string {
	if host == "" || a.IsRoot() {
		return ""
	}
	parent := ""
	if a.Above != nil {
		parent = a.Above.Values[hostKey]
	}
	switch {
	case a.Parent == a.Root && host == parent:
		return fmt.Sprintf("it cannot have the host %s: that is the host of %s. Choose one below it", host, a.Parent)
	case a.Parent == a.Root: // whoever may create tenants there decides about the platform's domains
	case parent == "":
		return fmt.Sprintf("it cannot have the host %s: its parent, %s, has none. Leave out host, or give the parent one", host, a.Parent)
	case !strings.HasSuffix(host, "."+parent):
		return fmt.Sprintf("it cannot have the host %s: that is not below %s, the host of its parent. Choose one that ends in .%s", host, parent, parent)
	}
	i := slices.IndexFunc(a.Others, func(n Neighbour) bool {
		return n.Grant != nil && n.Values[hostKey] != "" && overlap(host, n.Values[hostKey])
	})
	if i >= 0 {
		// A stranger's host is said, and not who has it: tenants do not know each other.
		return fmt.Sprintf("it cannot have the host %s: another tenant has %s. Choose another host", host, a.Others[i].Values[hostKey])
	}
	return ""
}

// overlap reports whether one of two hosts is, or is below, the other.
func overlap(a, b string) bool {
	return a == b || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a)
}
