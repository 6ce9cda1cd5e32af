// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package render creates objects from templates and rows: first a Tenant's spec, then the objects
// of the Tenant.
//
// Terms:
//
//   - Values: the variables of templates, by name: uid, rawUid, host, hostOrUrl, activate,
//     registryId, templateRef, and the registry's other mappings.
//   - Manifest: the spec of a resource, which is the whole object. In a Tenant it is still a
//     template; names, namespaces, labels and annotations beside it are rendered there.
//   - Allocation: a small integer from a pool. It is allocated when the Tenant is created, and
//     later read from the Tenant.
//
// Invariants:
//
//   - The same Tenant gives the same objects, in the order of its lists.
//   - Values of a row are text, never a template or structure, also in stacks, which render some of
//     their fields themselves.
//   - All objects of a tenant together are limited to the cost of a few texts.
//   - A resource that cannot be rendered does not affect others.
//   - A missing value is an error of its field. Errors contain no values, except names of objects
//     and namespaces.
//   - Every object has the tenant's safe uid as a label, whatever its template contains.
//   - Arguments are not modified; results share nothing with them.
//
// The package does not know what an API serves: an object of a cluster-scoped kind has a namespace
// here, except for a Namespace.
package render
