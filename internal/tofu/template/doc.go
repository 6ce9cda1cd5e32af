// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package template renders templates of stacks: the strings of spec.values and the file
// main.tf.tpl.
//
// Nouns:
//
//   - A document is JSON. Each of its strings is a template of its own, with the marks ${{ and }},
//     and its result replaces the string: inserted text never changes the document's structure.
//   - A file is text with the marks {{ and }}, as in Helm.
//   - A dialect has its own left mark, and functions besides the common ones. Results of some of
//     them, its types, stay numbers and booleans if the text is nothing else.
//   - The budget limits the cost of a rendering. A loop iteration, a template call and a function
//     call pay for their possible time and memory in advance. A purse is a shared budget of several
//     renderings.
//   - A field is a path that a template reads from its data, according to its text.
//
// Invariants:
//
//   - Templates are hostile: whatever they contain, rendering ends within the budget and reaches
//     only the given data.
//   - Equal templates with equal data give equal results: functions of time, randomness or
//     environment are missing, and those with an unordered result sort it.
//   - A missing value can be tested, as in "if" and "default", but not written.
//   - Errors contain nothing of the data but the names in the template, except for a message that
//     the template composes with "fail".
//
// The package does not know where data comes from or which of it is secret.
package template
