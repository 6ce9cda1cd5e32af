// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package graph says which object of a tenant waits for which.
//
// Nouns:
//
//   - Edge: an object waits for another one. Its template says so (dependIds), or the one refers to the other.
//   - Reference: what an object's manifest says of another object: the Secret that a Pod mounts, the Service behind an Ingress,
//     the namespace that it is made in.
//   - Provider: the object that is there once a reference can be followed. For a Secret that a stack writes its outputs to,
//     that is the stack.
//
// Invariants:
//
//   - A graph has no cycles. One of dependIds is an error, which names its ids; a reference that would close one is left out,
//     and told.
//   - What was declared is always kept, and an edge that is both declared and referred to is the declared one.
//   - An edge of a reference demands readiness only where being there is not enough: a stack's outputs, a Namespace. A volume
//     claim may be bound by its first Pod alone, so that who waited for more would wait forever.
//   - The order is that of the template as far as the edges allow, and the same each time.
//   - References that are marked optional make no edges. Those of custom kinds are known by their usual names.
//
// The package does not know what is there and what is ready.
package graph
