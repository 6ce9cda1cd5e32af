// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"strings"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

// Conflict says which definition has something that d needs for itself, and rules; empty if none does.
// A definition whose kind the API has, as serves says, rules the others. Of these the older one
// rules, and of two of the same second the one whose name comes first.
func Conflict(d *appv1.ApplicationDefinition, all []*appv1.ApplicationDefinition, serves func(name string) bool) string {
	for _, other := range all {
		if other.Name == d.Name || !rules(other, d, serves) {
			continue
		}
		if what := shared(d, other); what != "" {
			return fmt.Sprintf("the definition %s has %s, too. Choose another one, or delete that definition", other.Name, what)
		}
	}
	return ""
}

func rules(a, b *appv1.ApplicationDefinition, serves func(name string) bool) bool {
	if serves(a.Name) != serves(b.Name) {
		return serves(a.Name)
	}
	if a.CreationTimestamp.Time.Equal(b.CreationTimestamp.Time) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.Time.Before(b.CreationTimestamp.Time)
}

// shared says what two definitions both need for themselves.
func shared(d, other *appv1.ApplicationDefinition) string {
	a, b := d.Spec.Application, other.Spec.Application
	for _, name := range []string{a.Plural, a.Singular, strings.ToLower(a.Kind)} {
		if name == b.Plural || name == b.Singular || name == strings.ToLower(b.Kind) {
			return fmt.Sprintf("the kind %s (%s, %s)", b.Kind, b.Plural, b.Singular)
		}
	}
	backend, prefix := place(d)
	otherBackend, otherPrefix := place(other)
	// Several of Cozystack's modules have no prefix. An object with two owners is found when it is
	// written.
	if prefix != "" && backend == otherBackend && prefix == otherPrefix {
		return fmt.Sprintf("the prefix %q of its %s objects", prefix, backend)
	}
	return ""
}

// place is where a definition's objects are: their kind, and the beginning of their names.
func place(d *appv1.ApplicationDefinition) (backend appv1.BackendType, prefix string) {
	switch b := d.Spec.Backend; {
	case d.Spec.Release != nil:
		return appv1.BackendHelm, d.Spec.Release.Prefix
	case b != nil && b.Helm != nil:
		return appv1.BackendHelm, b.Helm.Prefix
	case b != nil && b.Terraform != nil:
		return appv1.BackendTerraform, b.Terraform.Prefix
	case b != nil && b.Composition != nil:
		return appv1.BackendComposition, b.Composition.Prefix
	case b != nil && b.Tenant != nil:
		prefix, _ = b.Tenant.Begin()
		return appv1.BackendTenant, prefix
	}
	return "", ""
}
