// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package blueprint turns flags into objects: the commands that create an object, or write its
// manifest.
//
//   - Fields are flags of a command; each sets one field of a spec. A field with dots, such as
//     ref.branch, is nested.
//   - Command makes the command that creates an object from Fields, or writes it with --export.
//
// It checks what the flags need, and leaves the rest to the API.
package blueprint
