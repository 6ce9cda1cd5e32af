// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package versions shows which version of what runs where, environments side by side: modules, providers and
// tools as the last runs resolved them, and revisions of sources as stacks and Kustomizations applied
// them. It is for those who ask whether production has the release yet.
//
// An environment is a namespace, or the value of a label of stacks and Kustomizations. Without a label in the
// address, the page takes the first of [usual] that a stack has.
package versions
