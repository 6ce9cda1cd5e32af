// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package build builds the objects of a Kustomization from a tree of files.
//
// Nouns:
//
//   - A tree is the unpacked artifact. It is only read.
//   - A build is kustomize's result for spec.path with the Kustomization's additions, decrypted,
//     with variables and common metadata, in kustomize's order.
//   - A variable is a name of postBuild with its value. In strict mode, Flux's default, a missing
//     value fails the build.
//
// Invariants:
//
//   - Builds have the same objects as in Flux's kustomize-controller, and equal input an equal
//     digest.
//   - A build fetches nothing, runs no program of the tree, and reads no file outside it.
//   - Files, documents, depth, aliases and substitutions are limited.
//   - Only one build at a time uses kustomize's global variables.
//   - Errors name files relative to the tree, and lines if known, but never values of Secrets and
//     variables.
//
// The package applies nothing and knows no clusters: a Reader returns ConfigMaps and Secrets.
package build
