// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package kustomize runs kustomize in this process, or in a separate one.
//
// Nouns:
//
//   - A tree is a file system with the input. kustomize only reads it.
//   - A process is the program yuba-kustomize for one build. It has no files, environment or
//     network: it requests every file, and returns objects.
//   - An object is one of kustomize's results, as JSON.
//
// Invariants:
//
//   - A separate process returns the same objects as this one, byte for byte and in the same order.
//   - The results of a process are limited; package subprocess limits its
//     resources.
//
// Limits and encryption are up to the tree. The package imports little, because it starts often.
package kustomize
