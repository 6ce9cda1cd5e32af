// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package check finds mistakes in a template before a tenant has them.
//
// Terms:
//
//   - The subject is a template with one row: a tenant's own, or a made-up one if there is none
//     yet.
//   - A finding is a mistake (an error) or a remark (a warning), with its position in the template.
//   - The world is the API that the objects are for. Without one, only the template itself is
//     checked.
//   - A program is the root module inside a Terraform object of the template: its declarations are
//     known here. Nothing is known, or reported, about programs from sources.
//
// It finds: templates that do not render; conflicting ids, dependencies and names; invalid HCL,
// with file, line and column; undeclared variables, and those without a value or with one of
// another type; keys of Secrets that are not outputs of the stack that writes them; texts of rows
// that become part of a program; kinds that are not served; and errors of the API in a dry run.
//
// Invariants:
//
//   - Nothing is changed.
//   - Unknown values are not mistakes: a Secret of another owner may contain anything.
//   - The same subject and world give the same findings, in the template's order.
//   - With a made-up row, an unsuitable value is a warning, and so is a rendering error that it
//     causes: real rows may differ. Without a registry the names of variables are unknown.
//   - No finding contains a value of a Secret.
//
// The package does not act on findings.
package check
