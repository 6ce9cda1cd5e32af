// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Quota limits resources by their names in a ResourceQuota. A resource without a limit is not in it.
type Quota map[string]resource.Quantity

// compute are the resources that containers both request and are limited by.
var compute = []string{"cpu", "memory", "ephemeral-storage"}

// plain are the names without a slash that a ResourceQuota knows, and whether they are counted in whole
// numbers.
var plain = map[string]bool{
	"requests.cpu": false, "requests.memory": false, "requests.ephemeral-storage": false, "requests.storage": false,
	"limits.cpu": false, "limits.memory": false, "limits.ephemeral-storage": false,
	"pods": true, "services": true, "services.nodeports": true, "services.loadbalancers": true, "replicationcontrollers": true,
	"resourcequotas": true, "secrets": true, "configmaps": true, "persistentvolumeclaims": true,
}

// ReadQuota reads the field resourceQuotas of a spec. As in Cozystack, cpu, memory and ephemeral-storage
// limit both requests and limits, and storage limits requests.storage.
func ReadQuota(field any) (Quota, error) {
	entries, ok := field.(map[string]any)
	if field == nil || ok && len(entries) == 0 {
		return nil, nil
	}
	if !ok {
		return nil, fmt.Errorf("resourceQuotas must be an object of numbers, such as {count/terraforms.infra.contrib.fluxcd.io: 20}")
	}
	quota := Quota{}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		amount, err := resource.ParseQuantity(strings.TrimSpace(fmt.Sprint(entries[key])))
		if err != nil || amount.Sign() < 0 {
			return nil, fmt.Errorf("resourceQuotas.%s: %v is not an amount. Write a number that is not negative, such as 4, 500m or 8Gi", key, entries[key])
		}
		for _, name := range spread(key) {
			if wrong := unknown(name, amount); wrong != "" {
				return nil, fmt.Errorf("resourceQuotas.%s: %s", key, wrong)
			}
			if _, twice := quota[name]; twice {
				return nil, fmt.Errorf("resourceQuotas.%s: %s is limited twice. Remove one of the two", key, name)
			}
			quota[name] = amount
		}
	}
	return quota, nil
}

// spread are the names of a resource in a ResourceQuota.
func spread(key string) []string {
	switch {
	case slices.Contains(compute, key):
		return []string{"limits." + key, "requests." + key}
	case key == "storage":
		return []string{"requests.storage"}
	}
	return []string{key}
}

// counted is a number of objects: count/RESOURCE.GROUP.
var counted = regexp.MustCompile(`^count/[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// unknown says why a ResourceQuota would not be accepted; empty if it would.
func unknown(name string, amount resource.Quantity) string {
	whole, known := plain[name]
	if strings.Contains(name, "/") {
		whole, known = strings.HasPrefix(name, "count/"), len(validation.IsQualifiedName(name)) == 0
		known = known && (!whole || counted.MatchString(name))
	}
	switch {
	case !known:
		return "a quota knows no such resource. There are cpu, memory, storage, pods, services.loadbalancers and others, and count/RESOURCE.GROUP, such as count/terraforms.infra.contrib.fluxcd.io"
	case whole && amount.MilliValue()%1000 != 0:
		return fmt.Sprintf("%s is not a whole number", amount.String())
	}
	return ""
}

// Left is what remains of a quota for the tenant's own namespace, and never negative.
func (q Quota) Left(children []Child) Quota {
	left := Quota{}
	for name, amount := range q {
		rest := amount.DeepCopy()
		for _, c := range children {
			rest.Sub(c.Quota[name])
		}
		if rest.Sign() < 0 {
			rest = resource.Quantity{Format: amount.Format}
		}
		left[name] = rest
	}
	return left
}

// Same reports whether two quotas have the same limits.
func (q Quota) Same(other Quota) bool {
	return maps.EqualFunc(q, other, func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })
}

// grows reports whether a quota asks for more than another: of a resource, or for no limit.
func (q Quota) grows(than Quota) bool {
	for name, amount := range q {
		if had, ok := than[name]; !ok || amount.Cmp(had) > 0 {
			return true
		}
	}
	for name := range than {
		if _, ok := q[name]; !ok {
			return true
		}
	}
	return false
}

// Child is a tenant and its quota.
type Child struct {
	Name  string
	Quota Quota
}

// tooMuch says why a parent with this quota cannot grant ask to one more child; empty if it can. used is
// what the parent's own namespace uses.
func (q Quota) tooMuch(parent string, ask Quota, children []Child, used Quota) string {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(q)) {
		hard := q[name]
		want, limited := ask[name]
		promised, names := promises(children, name)
		free := hard.DeepCopy()
		free.Sub(promised)
		free.Sub(used[name])
		if free.Sign() < 0 {
			free = resource.Quantity{Format: hard.Format}
		}
		uses := used[name]
		account := fmt.Sprintf("of the %s of %s, it uses %s itself, and its other tenants have %s%s: %s are left",
			hard.String(), parent, uses.String(), promised.String(), names, free.String())
		switch {
		case !limited:
			wrong = append(wrong, fmt.Sprintf("set %s, too: the parent limits it (%s)", name, account))
		case want.Cmp(free) > 0:
			wrong = append(wrong, fmt.Sprintf("%s of %s are too many (%s)", want.String(), name, account))
		}
	}
	return strings.Join(wrong, "; ")
}

// tooSmall says why a quota cannot be given to a tenant whose children have theirs; empty if it can.
func (q Quota) tooSmall(children []Child) string {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(q)) {
		hard := q[name]
		for _, c := range children {
			if _, limited := c.Quota[name]; !limited {
				wrong = append(wrong, fmt.Sprintf("%s cannot be limited while the tenant %s in it has no limit", name, c.Name))
			}
		}
		if promised, names := promises(children, name); promised.Cmp(hard) > 0 {
			wrong = append(wrong, fmt.Sprintf("%s of %s are too few: its tenants have %s%s", hard.String(), name, promised.String(), names))
		}
	}
	return strings.Join(wrong, "; ")
}

// promises are how much of a resource children have, and which.
func promises(children []Child, resourceName string) (sum resource.Quantity, names string) {
	var has []string
	for _, c := range children {
		if amount, ok := c.Quota[resourceName]; ok {
			sum.Add(amount)
			has = append(has, fmt.Sprintf("%s %s", c.Name, amount.String()))
		}
	}
	slices.Sort(has)
	const most = 5
	if len(has) > most {
		has = append(has[:most], fmt.Sprintf("and %d more", len(has)-most))
	}
	if len(has) == 0 {
		return sum, ""
	}
	return sum, " (" + strings.Join(has, ", ") + ")"
}

// Grant is what a tenant has, as it is recorded.
type Grant struct {
	Quota Quota `json:"quota,omitempty"`
	// Values are those that charts read below _namespace, and that children inherit: the host, the
	// scheduling class, and for each module the namespace that has it; empty for none.
	Values map[string]string `json:"values,omitempty"`
}

// ReadGrant reads a record; nil if it is none.
func ReadGrant(text string) *Grant {
	g := &Grant{}
	if text == "" || json.Unmarshal([]byte(text), g) != nil {
		return nil
	}
	return g
}

// Text is the record.
func (g *Grant) Text() string {
	text, err := json.Marshal(g)
	if err != nil {
		return "" // it has only texts
	}
	return string(text)
}

// Same reports whether two grants are the same; either may be nil.
func (g *Grant) Same(other *Grant) bool {
	return g == other || g != nil && other != nil && g.Quota.Same(other.Quota) && maps.Equal(g.Values, other.Values)
}
