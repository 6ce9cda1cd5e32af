// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package inspect reads modules that are published in a registry, and compares their interfaces.
//
// Nouns:
//
//   - An interface is what callers of a module depend on: inputs, outputs, required providers and
//     versions of the tool, and the same of its submodules.
//   - A submodule is a directory with configuration below modules/. An example is one below
//     examples/; nobody depends on examples.
//   - A change is a difference between two interfaces. It is breaking if a call that was valid
//     before can be invalid, or be ignored in part, afterwards.
//
// Invariants:
//
//   - Archives are hostile. Nothing is executed or extracted; memory and time are limited.
//   - An archive is refused if it has links, devices, names that leave it, or no module at its root.
//     If its only entry at the root is a directory with configuration, as in archives that git hosts
//     make, that directory is the root, and is stripped from the stored archive. A directory that has
//     a name with a meaning in a module (modules, examples, tests) is never stripped.
//   - [Compare] is pure. It finds nothing between two equal interfaces, and no change of an interface
//     breaks nobody's call without being in its list: see the laws in its tests.
//
// The package does not know which versions there are: package catalog chooses what to compare.
package inspect
