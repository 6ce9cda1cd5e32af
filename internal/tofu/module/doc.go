// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package module reads what a root module declares, before tofu does.
//
// Nouns:
//
//   - A module is the set of configuration files in one directory: *.tf, *.tofu and their .json
//     forms. A .tofu file replaces the .tf file of the same name; override files change
//     declarations of the others.
//   - A declaration is a variable or an output with its position.
//   - A problem is a value that does not fit its declaration.
//   - Reads are the files of its source, and the external data, that a plan of the root module can
//     read: derived from the configuration alone, conservatively.
//
// Invariants:
//
//   - Configuration is hostile: whatever the bytes, reading ends soon, in limited memory and
//     without a panic. Only literals are evaluated, since an expression of a few lines can exceed
//     any machine.
//   - Only what tofu refuses, too, is an error. The package leaves everything it does not
//     understand to tofu.
//   - No text that leaves the package contains a variable's value.
//
// The package does not fetch modules, resolve providers or evaluate expressions and validation
// rules.
package module
