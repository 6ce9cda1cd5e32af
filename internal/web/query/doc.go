// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package query is the small language by which people find stacks:
//
//	status:failed,drift env:prod ns:team-* changed:<1d -tenant:acme "access denied"
//
// Nouns:
//
//   - A term is a word, a quoted text, or FIELD:VALUE. Terms are combined with "and"; a minus in front
//     negates one. Several values of one field, separated by commas, are combined with "or".
//   - A field is one of [Fields], or else the name of a label, with or without its prefix.
//   - A [Stack] is what a query sees of a stack.
//   - A [Lookup] is a term that only the server's index of modules can answer.
//
// The package is pure: it reads no objects and no clock. A text is parsed the same way whatever
// stacks there are, so that a saved query never becomes invalid.
package query
