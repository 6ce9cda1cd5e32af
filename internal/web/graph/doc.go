// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package graph shows how everything hangs together: sources, Kustomizations, stacks, what stacks
// give each other, tenants, and the applications that stacks are made for.
//
// Nouns:
//
//   - A node is an object, or something that a stack gives to others: a contract or a Secret with
//     outputs. An edge leads from what is needed to what needs it, so a change flows along the edges.
//   - A view is what a person asks for by the address of the page: a filter, a focus with its levels, open
//     groups.
//   - A group stands for many nodes of a namespace, or with the same value of a label, until a link opens it.
//
// The stages are pure, and each is a file: nodes of objects ([Model]), what of it is shown (view),
// where it is drawn (package layered), and the picture.
//
// Invariants:
//
//   - The picture never has more than [most] nodes; beyond that nodes are grouped, and groups cut off.
//   - The table has the same nodes and edges as the picture.
//   - Nothing depends on the order of the objects.
package graph
