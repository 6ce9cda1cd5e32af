// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package gitops has the commands about sources, Kustomizations, receivers, alerts and artifacts:
// get, tree, events, the verbs create, delete, reconcile, suspend and resume for these kinds, build
// and diff for local files, and push, pull, tag and list for artifacts in OCI registries.
//
//   - A forest lists objects when trees need them, each list once.
//   - A builder builds local files as a Kustomization would.
//
// The verbs themselves belong to package stacks; package cli adds the commands for the kinds to
// them.
package gitops
