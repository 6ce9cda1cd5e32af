// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package check finds mistakes in a template before a tenant has them.
//
// Nouns:
//
//   - The subject is a template with one row: a tenant's own, or one that is made up because there is none yet.
//   - A finding is one mistake (an error) or something worth knowing (a warning), and where in the template it is.
//   - The world is the API that the objects are for. Without one, only the template itself is looked at.
//   - A program is what a Terraform object of the template has written in it: what it declares is known here. Of programs that
//     come from sources nothing is known, and nothing is said.
//
// What is found: what does not render; ids, dependencies and names that clash; programs that are no HCL, with file, line and
// column; variables that no program declares, that lack a value or have one of another type; keys of Secrets that are no
// outputs of the stack that writes them; texts of rows that become part of a program; kinds that nobody serves; and whatever the
// API says to a dry run.
//
// Invariants:
//
//   - Nothing is changed, nowhere.
//   - What is not known is no mistake: a value that comes from a Secret of somebody else may be anything.
//   - The same subject and world give the same findings, in the template's order.
//   - With a row that is made up, a value that does not fit is a warning, and so is what does not render because of it: real rows
//     may have others. Without a registry nothing is known of the names of variables.
//   - No finding has a value of a Secret in it.
//
// It does not say what is to be done about a finding.
package check
