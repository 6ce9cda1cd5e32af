// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package library checks what the modules of one directory tree pass to each other, without a tool, a
// provider or a network: in a second, over all of them, before any init.
//
// Nouns:
//
//   - A library is a directory tree with modules. Each directory with configuration is one.
//   - A root is a module that no other one of the library calls.
//   - A finding is a place where two modules do not fit: an argument that no variable takes, an output
//     that is not there. tofu finds most of them one root at a time and after an init, and misses those
//     that try() hides.
//
// Invariants:
//
//   - Configuration is hostile: what is read is bounded, links are not followed, nothing is evaluated.
//   - An error is something that tofu refuses as well, or that never yields what is written. Everything
//     else is a warning.
//   - What could not be read is a finding, too: silence means that all of it fits.
//
// Modules of a registry or a repository are not read. The same findings for these come from tofu.
package library
