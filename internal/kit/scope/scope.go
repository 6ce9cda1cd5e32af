// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package scope

// Label contains the scope of an object. It is the published label of a tenant's uid (LabelUID of
// the tenants' API).
const Label = "kubernetes-tenants.org/uid"

// Scope is the owner of an object. Objects with the zero Scope have no owner and are not separated
// from others.
type Scope string

// Of returns the scope of an object from its labels.
func Of(labels map[string]string) Scope { return Scope(labels[Label]) }

// Labels returns the labels of objects in the scope; nil for the zero Scope.
func (s Scope) Labels() map[string]string {
	if s == "" {
		return nil
	}
	return map[string]string{Label: string(s)}
}

// Excludes reports whether the two have different owners. The zero Scope excludes nothing.
func (s Scope) Excludes(other Scope) bool { return s != "" && other != "" && s != other }
