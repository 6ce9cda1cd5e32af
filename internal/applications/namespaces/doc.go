// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package namespaces decides which namespace a tenant has, and what is in it: an instance of an
// application kind whose backend is Tenant.
//
// Do not confuse it with package internal/tenants: that makes objects for the rows of a database.
//
// # Terms
//
//   - A tree has the namespaces of one kind's tenants. It begins in its root, which the platform team
//     creates.
//   - The parent of a tenant is the namespace that its instance is in. Nobody can choose another one, so
//     there are no cycles, and who may not write to a namespace cannot add a tenant below it.
//   - A grant is what a tenant has: its quota, host and other values. It is recorded at the namespace,
//     which users cannot write. What an instance asks for and does not get leaves its grant as it is.
//   - A quota is for a tenant with all its descendants. What is left of it, after the quotas of the
//     children, is for the tenant's own namespace: see [Quota.Left].
//
// # Laws
//
// Whatever the order of requests, these hold (and are tested on random trees):
//
//   - The quotas of the children and what their parent itself uses never exceed the parent's quota when
//     a child is granted more.
//   - A quota that its children have promised to others cannot be taken back.
//   - The hosts of two tenants never overlap, unless one is the other's ancestor.
//   - A group of a tenant has no permission outside its namespace and those of its descendants.
//
// The package is pure: no client, clock or logger.
package namespaces
