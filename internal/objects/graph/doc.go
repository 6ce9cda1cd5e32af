// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package graph determines which object of a template waits for which. Tenants and composed
// applications have such templates.
//
// Terms:
//
//   - Edge: an object waits for another one, because its template says so (dependIds), or because
//     it refers to it.
//   - Reference: another object in an object's manifest: the Secret that a Pod mounts, the Service
//     behind an Ingress, its namespace.
//   - Provider: the object that makes a reference valid. For a Secret with a stack's outputs, that
//     is the stack.
//
// Invariants:
//
//   - A graph has no cycles. A cycle of dependIds is an error that names its ids; a reference that
//     would close one is ignored and reported.
//   - Declared edges are always kept, and override edges of references.
//   - An edge of a reference requires readiness only where existence is not enough: a stack's
//     outputs, a Namespace. A volume claim may be bound only by its first Pod, so waiting for
//     readiness could take forever.
//   - The order follows the template as far as the edges allow, and is deterministic.
//   - Optional references make no edges. References in custom kinds are recognised by their usual
//     names.
//
// The package does not know what exists and what is ready.
package graph
