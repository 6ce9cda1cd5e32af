// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package scaffold writes the first files of a module, an environment, a stack, a target or a contract,
// from templates: those of Yuba, or a directory's of one's own.
//
// Nouns:
//
//   - A template is a directory with the name of a kind. Its files go to the same paths below the root of
//     the library.
//   - A placeholder is a word such as @NAME@, in paths and in contents. There is no other language.
//
// Invariants:
//
//   - No file is replaced: if one is there, nothing is written.
//   - Templates are hostile: links are not followed, no path leaves the library, sizes are bounded, and
//     nothing in them is executed.
//   - What Yuba's own templates write is formatted, valid, and passes "yuba modules check".
package scaffold
