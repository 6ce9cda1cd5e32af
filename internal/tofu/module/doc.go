// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package module reads what a root module declares, before tofu sees it.
//
// The nouns:
//
//   - A module is the set of configuration files in one directory: *.tf,
//     *.tofu and their .json forms. A .tofu file replaces the .tf file of the
//     same name; override files change what the others declare.
//   - A declaration is a variable or an output with the place it stands at.
//   - A problem is a value that does not fit its declaration.
//   - Reads are the files of its source, and what of the world, that planning a
//     root module can read: told from the configuration alone, with caution.
//
// Invariants:
//
//   - Configuration is hostile: whatever the bytes, reading ends soon, in
//     bounded memory and without a panic. Only literals are evaluated, since an
//     expression of a few lines can ask for more than any machine has.
//   - Only what tofu would refuse as well is an error here. What this package
//     does not understand it leaves to tofu.
//   - No text that leaves the package contains a variable's value.
//
// The package does not fetch modules, resolve providers or evaluate expressions
// and validation rules.
package module
