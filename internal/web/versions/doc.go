// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package versions shows which version of what runs where, environments side by side. It is for those who
// ask whether production has the release yet. It shows what objects and records tell, and nothing else:
//
//   - modules, providers and tools as the last runs resolved them;
//   - revisions of sources as stacks and Kustomizations applied them;
//   - charts as Helm releases installed them;
//   - images that are named where people state them: variables and values of stacks, images of
//     Kustomizations, values of Helm releases, workloads of tenants. One that is declared by an object
//     that is not ready says so.
//
// It does not read states, plans or clusters: an image in the middle of a program, or from a Secret, is
// not found.
//
// An environment is a namespace, or the value of a label of stacks and Kustomizations. Without a label in the
// address, the page takes the first of [usual] that a stack has.
package versions
