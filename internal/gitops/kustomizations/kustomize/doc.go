// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package kustomize runs kustomize: here, or in a process of its own.
//
// The nouns:
//
//   - A tree is a file system with what is built. kustomize only reads it.
//   - A process is the program yuba-kustomize, started for one build. It has no files, no environment and no network
//     that it would use: it asks for every file, and answers with objects.
//   - An object is what kustomize made, as JSON.
//
// Invariants:
//
//   - Objects that a process makes are those that this process would make, in the same order and byte for byte.
//   - What a process may answer is bounded; package apart bounds the rest.
//
// The package knows nothing of Kustomizations, of limits of trees, of encryption: whoever serves the tree sees to that.
// It imports little, because the program is started often.
package kustomize
