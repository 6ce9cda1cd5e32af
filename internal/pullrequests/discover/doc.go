// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package discover finds the stacks that a pull request can change, by the content of two trees and not by filters of
// paths. It is pure.
//
// The nouns:
//
//   - A tree is the content of a source at one commit: before is the base's, after that of the head merged into it.
//   - A stack's part are the files that its root module can read, as internal/tofu/module proves it: its directory, local
//     modules wherever they are, files and templates that it names. If that is not certain, the part is the whole tree.
//   - A manifest is an object that a Kustomization makes of a tree.
//
// Invariants:
//
//   - A stack that is not found has the same part in both trees, so that its configuration is the same.
//   - The part counts in both trees: a module whose last call is removed changes the stack, too.
//   - What a run would read and a tree does not show, such as a link to another file, counts as code that starts programs.
//
// A source with includes is a tree in which they are overlaid. Inputs of other sources, variables among them, are not
// considered: no pull request changes them.
package discover
