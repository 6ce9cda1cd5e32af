// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package scope

// Label names the scope of an object. It is the published label of a tenant's uid (LabelUID of the tenants' API).
const Label = "kubernetes-tenants.org/uid"

// Scope is whose an object is. The zero Scope is nobody's: such objects are not kept apart from others.
type Scope string

// Of reads the scope of an object from its labels.
func Of(labels map[string]string) Scope { return Scope(labels[Label]) }

// Labels are those that what belongs to the scope gets; nil for nobody's.
func (s Scope) Labels() map[string]string {
	if s == "" {
		return nil
	}
	return map[string]string{Label: string(s)}
}

// Excludes says whether the two belong to different owners. What is nobody's is excluded from nothing.
func (s Scope) Excludes(other Scope) bool { return s != "" && other != "" && s != other }
