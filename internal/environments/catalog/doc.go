// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package catalog finds the environments of a repository: which root modules have names, and where.
//
// Nouns:
//
//   - A library is a directory tree with modules, as in package library. Its root has the file
//     yuba.yaml, or one of the conventional directories.
//   - An environment is a root module with a name: its directory below environments/, or what
//     yuba.yaml says.
//
// Invariants:
//
//   - yuba.yaml and all names are hostile: a key that is not known is an error, and no path leaves
//     the library. The file cannot give a program more credentials, variables or files of the person
//     who runs it.
//   - Two environments never have the same name, and a name is always the same directory.
package catalog
