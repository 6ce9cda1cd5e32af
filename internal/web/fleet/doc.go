// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package fleet shows all stacks: found by a query, sorted, grouped, with what each is doing.
//
// Nouns:
//
//   - The [params] are what the address says: query, order, groups, columns, page. An address is a
//     link that shows the same to others, as far as they may see it.
//   - A column turns a stack into a text, and perhaps into a key to sort by.
//   - A saved view is a name for an address: of one browser in its cookie, or shared as a ConfigMap
//     with the label [labelView], read and written as the person.
//   - The recent runs of stacks are remembered from the watch of this process, so that a page asks
//     for none.
//
// A page draws [pageRows] rows at most. Exports have all rows.
package fleet
