// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package definition reads ApplicationDefinitions: it makes one value of both published shapes, and
// finds everything that is wrong with a definition before its kind is served.
//
// Terms:
//
//   - A parsed definition has its schema, and for Terraform the table of variables and the checked
//     template.
//   - A finding is an error, with which the definition is not used, or a warning.
//   - A rival is another definition with the same kind, plural, singular or prefix. The one whose kind
//     the API has rules; else the older one.
//
// Invariants:
//
//   - Parsing is pure: the same object gives the same result, and it asks nobody. Programs from sources
//     and registries are compared by [Definition.Against], with what a caller has found there.
//   - A definition with errors is never served, and changes nothing of the kind that is served.
//   - Findings contain no values of instances.
package definition
