// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package render makes objects of templates and rows: first a Tenant's spec, then the objects that the Tenant stands for.
//
// Nouns:
//
//   - Values: what templates know of a row, by name: uid, rawUid, host, hostOrUrl, activate, registryId, templateRef, and
//     whatever else the registry maps.
//   - Manifest: the spec of a resource, which is the whole of an object. In a Tenant it is a template still; names,
//     namespaces, labels and annotations beside it are rendered there.
//   - Allocation: a small integer from a pool. It is taken when the Tenant is made, and read from the Tenant after that.
//
// Invariants:
//
//   - The same Tenant gives the same objects, in the order of its lists.
//   - What a row says is text: it is never taken for a template, nor for structure, and not by stacks either, which render some of
//     their fields themselves.
//   - All objects of a tenant together cost no more than a few texts may.
//   - One resource that cannot be rendered keeps no other one from it.
//   - A value that is not there is an error of its field. Errors show no values, except for names of objects and namespaces.
//   - Every object bears the tenant's safe uid as a label, whatever its template says.
//   - What is given is left as it is; results share nothing with it.
//
// It knows nothing of what an API serves: an object of a kind without namespaces has one here, except for a Namespace.
package render
