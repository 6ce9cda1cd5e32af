// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"fmt"
	"regexp"
	"strings"
)

// Tree is where the namespaces of a kind's tenants are.
type Tree struct {
	// Root is the namespace in which it begins.
	Root string
	// Prefix begins the names of all others.
	Prefix string
}

// maxName is the greatest length of a namespace's name.
const maxName = 63

// name is what tenants may be called. A dash would make tenant-foo-bar the namespace of two tenants.
var name = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// Child is the namespace of a tenant in the namespace parent. It is parent itself for the instance that
// describes the root.
func (t Tree) Child(parent, tenant string) string {
	if parent == t.Root {
		return t.Prefix + tenant
	}
	return parent + "-" + tenant
}

// Chain are the namespaces from the root to namespace.
func (t Tree) Chain(namespace string) []string {
	chain := []string{t.Root}
	path, below := strings.CutPrefix(namespace, t.Prefix)
	if namespace == t.Root || !below {
		return chain
	}
	for end := range len(path) {
		if path[end] == '-' {
			chain = append(chain, t.Prefix+path[:end])
		}
	}
	return append(chain, namespace)
}

// Related reports whether one of two namespaces is an ancestor of the other, or both are the same.
func (t Tree) Related(a, b string) bool {
	return a == b || a == t.Root || b == t.Root || strings.HasPrefix(a, b+"-") || strings.HasPrefix(b, a+"-")
}

// bad says why a tenant in parent cannot have that name; empty if it can.
func (t Tree) bad(parent, tenant string) string {
	child := t.Child(parent, tenant)
	switch {
	case !name.MatchString(tenant):
		return fmt.Sprintf("%q cannot name a tenant: use lower case letters and digits, and begin with a letter. With a dash, two tenants could have the same namespace", tenant)
	case tenant == "super":
		// Its group for the level admin would be the parent's for super-admin.
		return fmt.Sprintf("a tenant cannot be called super: the group %s-admin would be administrators of both %s and %s. Choose another name", child, child, parent)
	case len(child) > maxName:
		return fmt.Sprintf("the namespace %s would have %d characters, and at most %d are allowed. Choose a shorter name, or another parent", child, len(child), maxName)
	}
	return ""
}
