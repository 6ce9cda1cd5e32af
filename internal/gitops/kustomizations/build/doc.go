// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package build turns a tree of files and a Kustomization into the objects that are to be applied.
//
// The nouns:
//
//   - A tree is the unpacked artifact. It is read and never written.
//   - A build is what kustomize makes of the directory spec.path with what the
//     Kustomization adds, decrypted, with its variables substituted, and with
//     its common metadata, in the order in which kustomize gives it.
//   - A variable is a name of postBuild with its value. In strict mode, which
//     is Flux's default, a name without a value fails the build.
//
// Invariants:
//
//   - The same input gives the same objects that Flux's kustomize-controller
//     gives, and the same digest.
//   - The tree is all there is: nothing is fetched, no program is run, no file
//     outside of the tree is read, whatever its links and paths say.
//   - Files, documents, depth, aliases and substitutions are bounded.
//   - What kustomize keeps globally is used by one build at a time.
//   - Errors name the file and the line where those can be told, relative to
//     the tree, and never show a Secret's values or variables' values.
//
// The package applies nothing and knows no cluster: the few ConfigMaps and
// Secrets that a Kustomization names come through a Reader.
package build
